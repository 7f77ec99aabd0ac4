"""Rekall memory for AutoGen agents.

from rekall_autogen import RekallMemory

agent = AssistantAgent("assistant", model_client, memory=[RekallMemory(api_url=..., api_key=...)])
"""

from memotel.autogen import RekallMemory, create_memory_tools

__all__ = ["RekallMemory", "create_memory_tools"]
