"""The doctor: is memory set up, does it work, and what is to be done where it does not?"""

from memotel.doctor.command import main

__all__ = ["main"]
