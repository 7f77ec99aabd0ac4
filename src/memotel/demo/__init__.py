"""The demo: real AG2 and AutoGen agents with memory against the development server, live, with metrics to scrape."""

from memotel.demo.command import main

__all__ = ["main"]
