"""Which reply functions of an agent may see memory: its model, and those that the user registered.

Everything else of AG2's own acts on text (termination, human prompts, tools, code, nested and inner chats, handoffs),
so memory is withdrawn before it runs. Read from autogen 0.14.1, November 2026.
"""

from memotel.ag2.framework import ReplyEntry, ReplyFunction, plain_function

_MODEL = "generate_oai_reply"
_MODELS_OF_AG2 = frozenset({"generate_forest_response", "_a2ui_validating_reply"})
_ACTORS = frozenset(
    {
        "check_termination_and_human_reply",
        "a_check_termination_and_human_reply",
        "generate_function_call_reply",
        "a_generate_function_call_reply",
        "generate_tool_calls_reply",
        "a_generate_tool_calls_reply",
        "generate_code_execution_reply",
        "_generate_code_execution_reply_using_executor",
    }
)
_NESTED = "register_nested_chats.<locals>.wrapped_reply_func"


def is_seam(entry: ReplyEntry) -> bool:
    """Whether the entry is one that memotel placed, for any capability."""
    return bool(getattr(entry["reply_func"], "is_memotel_seam", False))


def may_see_memory(agent: object, entry: ReplyEntry) -> bool:
    """Whether this reply function is shown memory; an agent's model only where it has one to answer with."""
    function = plain_function(entry["reply_func"])
    name = str(getattr(function, "__name__", ""))
    if name in _ACTORS or _is_nested_chat(function):
        return False
    is_of_ag2 = _is_of_ag2(function)
    if is_of_ag2 and _MODEL in name:
        has_client = getattr(agent, "client", None) is not None
        return has_client or entry["config"] is not None
    return not is_of_ag2 or name in _MODELS_OF_AG2


def _is_of_ag2(function: ReplyFunction) -> bool:
    module = str(getattr(function, "__module__", ""))
    return module == "autogen" or module.startswith("autogen.")


def _is_nested_chat(function: ReplyFunction) -> bool:
    """AG2 gives its nested-chat function the name of the user's own; its code keeps the true one."""
    code = getattr(function, "__code__", None)
    return str(getattr(code, "co_qualname", "")).endswith(_NESTED)
