"""Each provider has its codec."""

from answers import answer

from memotel.backends import MemorySyncBackend, RekallBackend, codec_for
from memotel.outcomes import Provider


def test_codec_for_rekall() -> None:
    assert isinstance(codec_for(Provider.REKALL), RekallBackend)


def test_codec_for_memorysync_knows_its_project() -> None:
    codec = codec_for(Provider.MEMORYSYNC, "proj_0123456789abcdef")
    assert isinstance(codec, MemorySyncBackend)
    assert codec.credential_headers(None) == (("X-Project-ID", "proj_0123456789abcdef"),)


def test_codec_of_every_provider_is_its_own() -> None:
    assert [codec_for(provider).provider for provider in Provider] == list(Provider)
    assert codec_for(Provider.MEMORYSYNC).read_tenant(answer([{"tenant_id": "t"}])) == "t"
