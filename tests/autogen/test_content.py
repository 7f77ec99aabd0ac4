"""Every kind of MemoryContent: kept as a documented text, or refused; never dropped, never changed."""

from copy import deepcopy
from typing import Any

import pytest
from autogen_core import Image
from autogen_core.memory import MemoryContent, MemoryMimeType
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as Pillow

from memotel.autogen.content import from_memory, metadata_of, to_text
from memotel.errors import InvalidRequestError
from memotel.values import Memory

PICTURE = Image(Pillow.new("RGB", (1, 1)))
KEPT: list[tuple[Any, MemoryMimeType | str, dict[str, Any] | None, str]] = [
    ("plain", MemoryMimeType.TEXT, None, "plain"),
    ("# head", MemoryMimeType.MARKDOWN, None, "# head"),
    ("<b>x</b>", "text/html", None, "<b>x</b>"),
    ('{"a": 1}', MemoryMimeType.JSON, None, '{"a": 1}'),
    ({"b": 1, "a": "é"}, MemoryMimeType.JSON, None, '{"b": 1, "a": "é"}'),
    ("né".encode(), MemoryMimeType.TEXT, None, "né"),
    (b'{"a": 1}', "application/json", None, '{"a": 1}'),
    (PICTURE, MemoryMimeType.IMAGE, {"description": "a red dot"}, "[image: a red dot]"),
    (b"\x89PNG", "image/png", {"description": "a dot"}, "[image: a dot]"),
    (
        b"\x00",
        MemoryMimeType.BINARY,
        {"description": "a scan"},
        "[application/octet-stream: a scan]",
    ),
]
REFUSED: list[tuple[Any, MemoryMimeType | str, str]] = [
    (PICTURE, MemoryMimeType.IMAGE, "description"),
    (b"\x00\xff", MemoryMimeType.BINARY, "description"),
    (b"\xff", MemoryMimeType.TEXT, "UTF-8"),
    ({"a": object()}, MemoryMimeType.JSON, "JSON values"),
]


@pytest.mark.parametrize(("value", "mime", "metadata", "expected"), KEPT)
def test_content_is_kept_as_text(
    value: Any, mime: MemoryMimeType | str, metadata: dict[str, Any] | None, expected: str
) -> None:
    content = MemoryContent(content=value, mime_type=mime, metadata=metadata)
    assert to_text(content) == expected


@pytest.mark.parametrize(("value", "mime", "hint"), REFUSED)
def test_content_without_a_text_is_refused_with_what_to_do(
    value: Any, mime: MemoryMimeType | str, hint: str
) -> None:
    with pytest.raises(InvalidRequestError, match=hint):
        to_text(MemoryContent(content=value, mime_type=mime))


def test_refusal_does_not_show_the_content() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        to_text(MemoryContent(content=b"secret\xff", mime_type="text/plain"))
    assert "secret" not in str(caught.value)


def test_metadata_of_the_caller_is_never_changed() -> None:
    metadata = {"type": "episodic", "importance": 0.9, "tags": ["a"], "when": 3 + 0j}
    content = MemoryContent(content="{}", mime_type=MemoryMimeType.JSON, metadata=metadata)
    before = deepcopy(metadata)
    sent = metadata_of(content)
    assert metadata == before
    assert sent == {
        "type": "episodic",
        "importance": 0.9,
        "tags": ["a"],
        "when": "(3+0j)",
        "mime_type": "application/json",
    }


def test_recalled_item_has_its_id_and_score_in_the_metadata() -> None:
    found = from_memory(Memory("mem_1", "likes tea", 0.75, {"type": "semantic"}))
    assert found.content == "likes tea"
    assert found.metadata == {"type": "semantic", "id": "mem_1", "score": 0.75}


json_dicts = st.dictionaries(
    st.text(), st.recursive(st.integers() | st.text() | st.none(), st.lists, max_leaves=5)
)


@given(json_dicts)
def test_dict_comes_back_as_it_went(value: dict[str, Any]) -> None:
    content = MemoryContent(content=value, mime_type=MemoryMimeType.JSON)
    back = from_memory(Memory("1", to_text(content), 1.0, metadata_of(content)))
    assert back.content == value
    assert back.mime_type is MemoryMimeType.JSON


def test_broken_json_comes_back_as_text() -> None:
    back = from_memory(Memory("1", "{", None, {"mime_type": "application/json"}))
    assert (back.content, back.mime_type) == ("{", MemoryMimeType.TEXT)
