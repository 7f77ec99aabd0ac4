"""Where an outbox may lie: the URL, and the file system under it."""

from pathlib import Path

import pytest

from memotel import places
from memotel.config import OutboxPolicy
from memotel.errors import ConfigurationError
from memotel.places import Place, network_type, place_of

MOUNTS = r"""
22 27 0:21 / /proc rw - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
40 27 0:40 / /mnt/nfs rw,relatime shared:5 - nfs4 server:/export rw
41 40 0:41 / /mnt/nfs/local rw - tmpfs tmpfs rw
42 27 0:42 / /mnt/with\040space rw - fuse.sshfs me@host:/ rw
43 27 0:43 / /var/lib/agent rw - ext4 /dev/vdb rw
a line that is no mount
""".lstrip()


@pytest.fixture
def mounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "mountinfo"
    path.write_text(MOUNTS)
    monkeypatch.setattr(places, "MOUNTS", path)
    return path


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("memory", None),
        ("sqlite:///var/lib/agent/outbox", Place(Path("/var/lib/agent/outbox"))),
        ("sqlite:////var/lib/agent", Place(Path("/var/lib/agent"))),
        ("sqlite:///tmp/with%20space", Place(Path("/tmp/with space"))),  # noqa: S108 # nothing is made there
        ("sqlite:///tmp/a/../b/", Place(Path("/tmp/b"))),  # noqa: S108 # nothing is made there
        ("sqlite:///tmp/b?synchronous=normal", Place(Path("/tmp/b"))),  # noqa: S108 # nothing is made there
        ("sqlite:///tmp/b?synchronous=FULL", Place(Path("/tmp/b"), is_full_sync=True)),  # noqa: S108 # nothing is made there
    ],
)
def test_url_names_a_directory(url: str, place: Place | None) -> None:
    assert place_of(url) == place


@pytest.mark.parametrize(
    "url",
    [
        "",
        "sqlite://",
        "sqlite:///",
        "sqlite://relative/path",
        "sqlite:relative",
        "sqlite:///tmp/a#b",
        "sqlite:///tmp/a?synchronous=off",
        "sqlite:///tmp/a?timeout=5",
        "sqlite:///tmp/%00",
        "carrier-pigeon",
        3,
    ],
)
def test_url_of_another_kind_is_refused_by_the_settings_name(url: object) -> None:
    with pytest.raises(ConfigurationError, match=r"^outbox "):
        place_of(url)  # type: ignore[arg-type] # what a caller may do


def test_password_in_a_url_of_another_kind_is_not_shown() -> None:
    with pytest.raises(ConfigurationError) as caught:
        OutboxPolicy(url="redis://user:secret@host/0")

    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/mnt/nfs", "nfs4"),
        ("/mnt/nfs/a/b", "nfs4"),
        ("/mnt/nfsx", None),
        ("/mnt/nfs/local/x", None),
        ("/mnt/with space/x", "fuse.sshfs"),
        ("/var/lib/agent/outbox", None),
    ],
)
def test_file_system_of_a_network_is_recognised(mounts: Path, path: str, kind: str | None) -> None:
    assert network_type(Path(path), mounts) == kind


@pytest.mark.usefixtures("mounts")
def test_file_system_of_a_network_is_refused_by_the_settings_name() -> None:
    with pytest.raises(ConfigurationError, match=r"outbox must lie on a local file system.*nfs4"):
        OutboxPolicy(url="sqlite:///mnt/nfs/outbox")


def test_unknown_mounts_are_no_reason_to_refuse(tmp_path: Path) -> None:
    assert network_type(tmp_path, tmp_path / "missing") is None


@pytest.mark.usefixtures("mounts")
def test_link_to_a_network_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/mnt/nfs")

    with pytest.raises(ConfigurationError, match="nfs4"):
        place_of(f"sqlite://{tmp_path}/link/outbox")


def test_directory_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    for path in ("file", "file/below"):
        with pytest.raises(ConfigurationError, match="can be made and written to"):
            place_of(f"sqlite://{tmp_path}/{path}")


def test_nothing_is_made_by_a_setting(tmp_path: Path) -> None:
    OutboxPolicy(url=f"sqlite://{tmp_path}/outbox")

    assert list(tmp_path.iterdir()) == []


def test_windows_has_the_memory_outbox_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "win32")

    assert place_of("memory") is None
    with pytest.raises(ConfigurationError, match="outbox must be 'memory' on Windows"):
        place_of("sqlite:///C:/outbox")
