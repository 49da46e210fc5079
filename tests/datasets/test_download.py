"""Downloads against a server on this machine: resume, wrong hash, paging, archives that leave their folder."""

import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs, urlparse

import numpy as np
import pytest
import yaml

from omni_bench.api import compose_config
from omni_bench.datasets.download import (
    DESCRIPTION,
    check_version,
    fetch,
    fetch_figshare,
    fetch_huggingface,
    fetch_openneuro,
    fetch_physionet,
    fetch_zenodo,
    unpack,
    unpack_zips,
)
from omni_bench.errors import BenchError
from omni_bench.steps import acquire

COMMIT = "0" * 40
CARDS = Path(__file__).parents[2] / "conf" / "dataset"


class Server(ThreadingHTTPServer):
    """Files by path, as a plain server, an S3 bucket and a Hugging Face hub; ``log`` has (method, path, range)."""

    files: dict[str, bytes]
    etags: dict[str, str]
    log: list[tuple[str, str, str | None]]
    cut_after: int | None = None
    page = 2

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def sent(self, path: str) -> list[str | None]:
        return [span for method, name, span in self.log if method == "GET" and name == path]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        url = urlparse(self.path)
        self.server.log.append((self.command, url.path, self.headers.get("Range")))
        if "list-type" in url.query:
            self.answer(self.listing(parse_qs(url.query)))
        elif url.path.startswith("/api/datasets/a/b/tree/"):
            names = [name.removeprefix("/hub/") for name in self.server.files if name.startswith("/hub/")]
            self.answer(json.dumps([{"type": "file", "path": n, "size": 1, "oid": n} for n in names]).encode())
        elif url.path.startswith("/datasets/a/b/resolve/"):
            self.file("/hub/" + url.path.split("/", 6)[6])
        else:
            self.file(url.path)

    def listing(self, query: dict[str, list[str]]) -> bytes:
        names = sorted(n for n in self.server.files if n.startswith("/" + query["prefix"][0]))
        start = int(query.get("continuation-token", ["0"])[0])
        page = names[start : start + self.server.page]
        body = "".join(
            f"<Contents><Key>{n[1:]}</Key><Size>{len(self.server.files[n])}</Size><ETag>&quot;"
            f"{self.server.etags.get(n, hashlib.md5(self.server.files[n]).hexdigest())}&quot;</ETag></Contents>"
            for n in page
        )
        if start + len(page) < len(names):
            body += f"<NextContinuationToken>{start + len(page)}</NextContinuationToken>"
        return f'<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">{body}</ListBucketResult>'.encode()

    def file(self, name: str) -> None:
        data = self.server.files.get(name)
        if data is None:
            self.send_error(404)
            return
        first = (
            int(self.headers["Range"].removeprefix("bytes=").rstrip("-"))
            if self.headers.get("Range", "").endswith("-")
            else 0
        )
        self.answer(
            data[first:],
            206 if first else 200,
            f"bytes {first}-{len(data) - 1}/{len(data)}" if first else None,
            hashlib.md5(data).hexdigest(),
        )

    def answer(self, body: bytes, status: int = 200, span: str | None = None, etag: str = "x") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", f'"{etag}"')
        self.send_header("X-Repo-Commit", COMMIT)
        if span:
            self.send_header("Content-Range", span)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body if self.server.cut_after is None else body[: self.server.cut_after])


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server(("127.0.0.1", 0), Handler)
    server.files, server.etags, server.log = {}, {}, []
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def blob(n: int = 100_000) -> bytes:
    return np.random.default_rng(0).bytes(n)


def md5(data: bytes) -> str:
    return hashlib.md5(data).hexdigest()


def test_a_cut_download_goes_on(server: Server, tmp_path: Path) -> None:
    data = server.files["/x.edf"] = blob(300_000)
    target = tmp_path / "deep" / "x.edf"
    server.cut_after = 200_000
    with pytest.raises(BenchError, match=r"x\.edf: cannot be fetched .*: repeat, it goes on"):
        fetch(f"{server.url}/x.edf", target, len(data), md5(data))
    assert not target.exists()
    server.cut_after = None
    fetch(f"{server.url}/x.edf", target, len(data), md5(data))
    assert target.read_bytes() == data
    assert server.sent("/x.edf") == [None, f"bytes={3 * 2**16}-"]
    assert [file.name for file in target.parent.iterdir()] == ["x.edf"]
    fetch(f"{server.url}/x.edf", target, len(data), md5(data))
    assert len(server.sent("/x.edf")) == 2


@pytest.mark.parametrize("known", [True, False])
def test_only_whole_and_right_files_are_kept(server: Server, tmp_path: Path, known: bool) -> None:
    data = server.files["/x.edf"] = blob()
    target = tmp_path / "x.edf"
    digest = md5(data) if known else None
    target.write_bytes(data[:-1] + b"?" if known else data[:-1])
    fetch(f"{server.url}/x.edf", target, len(data), digest)
    assert target.read_bytes() == data
    with pytest.raises(BenchError, match="not the announced file"):
        fetch(f"{server.url}/x.edf", tmp_path / "y.edf", len(data), md5(b"other"))
    with pytest.raises(BenchError, match="404"):
        fetch(f"{server.url}/z.edf", tmp_path / "z.edf", 1, digest)
    assert [file.name for file in tmp_path.iterdir()] == ["x.edf"]


def test_a_part_that_is_too_long_is_begun_again(server: Server, tmp_path: Path) -> None:
    data = server.files["/x.edf"] = blob(1000)
    (tmp_path / "x.edf.part").write_bytes(blob(2000))
    assert fetch(f"{server.url}/x.edf", tmp_path / "x.edf", 1000, md5(data)).read_bytes() == data


def description(accession: str, version: str) -> bytes:
    return json.dumps({"Name": "x", "DatasetDOI": f"doi:10.18112/openneuro.{accession}.v{version}"}).encode()


def test_openneuro(server: Server, tmp_path: Path) -> None:
    names = ["participants.tsv", "sub-01/ieeg/sub-01 +x_ieeg.edf", "sub-01/ieeg/big.edf", "empty.txt", "README"]
    for i, name in enumerate(names):
        server.files[f"/ds1/{name}"] = b"" if name == "empty.txt" else blob(1000 + i)
    names.append("dataset_description.json")
    server.files[f"/ds1/{names[-1]}"] = description("ds1", "1.0.2")
    server.files["/ds11/other.txt"] = b"of another data set"
    server.etags["/ds1/sub-01/ieeg/big.edf"] = f"{'0' * 32}-7"  # a multipart upload
    # the space and the plus arrive quoted
    server.files["/ds1/sub-01/ieeg/sub-01%20%2Bx_ieeg.edf"] = server.files["/ds1/sub-01/ieeg/sub-01 +x_ieeg.edf"]
    listed = {n: server.files[n] for n in server.files if "%" not in n}
    quoted = dict(server.files)

    class Both(dict):
        def __iter__(self) -> Iterator[str]:
            return iter(listed)

    server.files = Both(quoted)
    fetch_openneuro(tmp_path / "out", "ds1", "1.0.2", bucket=server.url)
    got = {
        p.relative_to(tmp_path / "out").as_posix(): p.read_bytes() for p in (tmp_path / "out").rglob("*") if p.is_file()
    }
    assert got == {name: listed[f"/ds1/{name}"] for name in names}
    before = len(server.log)
    fetch_openneuro(tmp_path / "out", "ds1", "1.0.2", bucket=server.url)
    assert {path for _, path, _ in server.log[before:]} == {"/"}
    with pytest.raises(BenchError, match="no data set ds9"):
        fetch_openneuro(tmp_path, "ds9", "1.0.2", bucket=server.url)


@pytest.mark.parametrize(
    ("content", "current"),
    [
        (description("ds1", "1.0.20"), "1.0.20"),
        (description("ds2", "1.0.2"), "unknown"),
        (b'{"Name": "x"}', "unknown"),
        (b"{", "unknown"),
    ],
)
def test_openneuro_in_another_version_is_not_fetched(
    server: Server, tmp_path: Path, content: bytes, current: str
) -> None:
    server.files["/ds1/CHANGES"] = server.files["/ds1/sub-01/eeg/sub-01_eeg.edf"] = blob(1000)
    server.files["/ds1/dataset_description.json"] = content
    with pytest.raises(BenchError, match=rf"ds1: OpenNeuro has version {current} .* say dataset.version={current} to"):
        fetch_openneuro(tmp_path, "ds1", "1.0.2", bucket=server.url)
    assert found(tmp_path) == {"dataset_description.json": content}
    fetch_openneuro(tmp_path, "ds1", current, bucket=server.url)
    assert len(found(tmp_path)) == 3


def test_versions_of_openneuro_in_the_cards_are_those_of_real_files(shared: Path) -> None:
    checked = 0
    for file in sorted(CARDS.glob("*.yaml")):
        card = yaml.safe_load(file.read_text(encoding="utf-8"))
        accession = card.get("acquire", {}).get("accession", "none")
        for path in (shared / "data").glob(f"sidecars_*/{accession}/{DESCRIPTION}"):
            check_version(path, accession, card["version"])
            checked += 1
    assert checked >= 11


def test_openneuro_key_that_leaves_the_folder(server: Server, tmp_path: Path) -> None:
    server.files["/ds1/../../evil.txt"] = b"x"
    with pytest.raises(BenchError, match="leaves the folder"):
        fetch_openneuro(tmp_path / "out", "ds1", "1.0.2", bucket=server.url)
    assert not list(tmp_path.rglob("evil.txt"))


def test_nobody_there(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="cannot be listed"):
        fetch_openneuro(tmp_path, "ds1", "1.0.2", bucket="http://127.0.0.1:9")


def archive(members: dict[str, bytes], link: tuple[str, str] | None = None) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
        if link:
            info = tarfile.TarInfo(link[0])
            info.type, info.linkname = tarfile.SYMTYPE, link[1]
            tar.addfile(info)
    return buffer.getvalue()


def test_huggingface(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # the suite runs with the hub switched off; this hub is on this machine
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setenv("HF_HUB_DISABLE_XET", "1")
    server.files["/hub/participants.tsv"] = b"participant_id\n"
    server.files["/hub/sub-x.tar"] = archive({"sub-x/ses-01/ieeg/a_ieeg.edf": blob()})
    root = tmp_path / "out"
    fetch_huggingface(root, "a/b", endpoint=server.url)
    assert (root / "participants.tsv").read_bytes() == b"participant_id\n"
    assert (root / "sub-x/ses-01/ieeg/a_ieeg.edf").read_bytes() == blob()
    assert not (root / "sub-x.tar").exists()
    fetch_huggingface(root, "a/b", endpoint=server.url)
    assert len(server.sent("/datasets/a/b/resolve/main/sub-x.tar")) <= 1
    server.files["/hub/sub-y.tar"] = archive({"sub-y/good.txt": b"1", "../evil.txt": b"2"})
    with pytest.raises(BenchError, match=r"member '\.\./evil\.txt' would leave"):
        fetch_huggingface(root, "a/b", endpoint=server.url)
    assert not (root / "sub-y").exists()
    assert not (tmp_path / "evil.txt").exists()


def test_huggingface_without_the_data_set(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # the suite runs with the hub switched off; this hub is on this machine
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    with pytest.raises(BenchError, match=r"a/c: cannot be fetched from Hugging Face \(.*404"):
        fetch_huggingface(tmp_path, "a/c", endpoint=server.url)


@pytest.mark.parametrize(
    ("members", "link"),
    [
        ({"ok.txt": b"1", "../evil.txt": b"2"}, None),
        ({"ok.txt": b"1"}, ("link", "../../evil.txt")),
        ({"ok.txt": b"1"}, ("link", "/etc/passwd")),
    ],
)
def test_archive_that_leaves_its_folder(
    tmp_path: Path, members: dict[str, bytes], link: tuple[str, str] | None
) -> None:
    file = tmp_path / "x.tar"
    file.write_bytes(archive(members, link))
    folder = tmp_path / "in" / "side"
    with pytest.raises(BenchError, match=r"x\.tar: member .* would leave .*nothing was unpacked"):
        unpack(file, folder)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["x.tar"]


def test_broken_archive(tmp_path: Path) -> None:
    file = tmp_path / "x.tar"
    file.write_bytes(archive({"a": blob(5000), "b": blob(5000)})[:7000])
    with pytest.raises(BenchError, match="not a whole tar archive"):
        unpack(file, tmp_path / "out")


def found(root: Path) -> dict[str, bytes]:
    return {file.relative_to(root).as_posix(): file.read_bytes() for file in root.rglob("*") if file.is_file()}


def physionet(server: Server, files: dict[str, bytes]) -> None:
    sums = [f"{hashlib.sha256(data).hexdigest()} {name}" for name, data in files.items()]
    server.files["/mi/1.0/SHA256SUMS.txt"] = "\n".join(sums).encode()
    server.files |= {f"/mi/1.0/{name}": data for name, data in files.items()}


def test_physionet(server: Server, tmp_path: Path) -> None:
    """Only what is wanted, in its folders; what is there and right is not asked for again, what is wrong is."""
    files = {
        "S001/S001R01.edf": blob(1000),
        "S001/S001R02.edf": blob(2000),
        "S001/S001R02.edf.event": b"x",
        "wfdbcal": b"",
    }
    physionet(server, files)
    fetch_physionet(tmp_path, "mi", "1.0", include=r"\.edf$", server=server.url)
    wanted = {name: data for name, data in files.items() if name.endswith(".edf")}
    assert found(tmp_path) == wanted
    (tmp_path / "S001/S001R02.edf").write_bytes(blob(1999) + b"?")
    before = len(server.log)
    fetch_physionet(tmp_path, "mi", "1.0", include=r"\.edf$", server=server.url)
    assert found(tmp_path) == wanted
    assert {path for _, path, _ in server.log[before:]} == {"/mi/1.0/SHA256SUMS.txt", "/mi/1.0/S001/S001R02.edf"}


def test_physionet_with_another_content(server: Server, tmp_path: Path) -> None:
    physionet(server, {"a.edf": blob(1000)})
    server.files["/mi/1.0/a.edf"] = blob(999) + b"?"
    with pytest.raises(BenchError, match=r"a\.edf: what came is not the announced file of 1000 bytes with SHA256"):
        fetch_physionet(tmp_path, "mi", "1.0", server=server.url)
    assert found(tmp_path) == {}
    with pytest.raises(BenchError, match=r"none of its 1 files fits '\\\\.bdf'"):
        fetch_physionet(tmp_path, "mi", "1.0", include=r"\.bdf", server=server.url)
    with pytest.raises(BenchError, match=r"SHA256SUMS.txt: cannot be read .*404"):
        fetch_physionet(tmp_path, "no", "1.0", server=server.url)


def test_zenodo_and_figshare(server: Server, tmp_path: Path) -> None:
    data = server.files["/content/a"] = blob(1000)
    zenodo = {
        "key": "a.zip",
        "size": 1000,
        "checksum": f"md5:{md5(data)}",
        "links": {"self": f"{server.url}/content/a"},
    }
    server.files["/records/7"] = json.dumps({"files": [zenodo]}).encode()
    fetch_zenodo(tmp_path / "z", "7", server=f"{server.url}/records")
    figshare = {"name": "b.edf", "size": 1000, "computed_md5": md5(data), "download_url": f"{server.url}/content/a"}
    server.files["/articles/8/files"] = json.dumps([figshare]).encode()
    fetch_figshare(tmp_path / "f", "8", server=f"{server.url}/articles")
    assert (found(tmp_path / "z"), found(tmp_path / "f")) == ({"a.zip": data}, {"b.edf": data})
    with pytest.raises(BenchError, match=r"figshare article 8: none of its 1 files fits"):
        fetch_figshare(tmp_path / "f", "8", include="mat", server=f"{server.url}/articles")


def zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def test_zip_in_zip(server: Server, tmp_path: Path) -> None:
    data = server.files["/content"] = zipped({"P01.zip": zipped({"P01/S1/eeg/a.set": b"set"}), "README": b"read"})
    listed = {
        "key": "all.zip",
        "size": len(data),
        "checksum": f"md5:{md5(data)}",
        "links": {"self": f"{server.url}/content"},
    }
    server.files["/7"] = json.dumps({"files": [listed]}).encode()
    fetch_zenodo(tmp_path, "7", unpack=True, server=server.url)
    assert found(tmp_path) == {"P01/S1/eeg/a.set": b"set", "README": b"read"}


def test_zip_that_leaves_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "x.zip").write_bytes(zipped({"good": b"1", "../evil": b"2"}))
    with pytest.raises(BenchError, match=r"member '../evil' would leave .*nothing was unpacked"):
        unpack_zips(folder)
    assert found(tmp_path).keys() == {"in/x.zip"}
    (folder / "x.zip").write_bytes(b"PK no")
    with pytest.raises(BenchError, match="not a whole archive"):
        unpack_zips(folder)


def test_a_download_that_broke_off_is_taken_up_again(server: Server, tmp_path: Path) -> None:
    files = {"a.edf": blob(1000), "b.edf": blob(2000)}
    physionet(server, files)
    missing = server.files.pop("/mi/1.0/b.edf")
    way = ["dataset.acquire.project=mi", "dataset.acquire.version='1.0'", f"+dataset.acquire.server='{server.url}'"]
    cfg = compose_config(["dataset=eegmat", f"dataset.root={tmp_path}/mi", *way])
    with pytest.raises(BenchError, match=r"b\.edf"):
        acquire(cfg)
    assert found(tmp_path / "mi") == {"a.edf": files["a.edf"]}
    server.files["/mi/1.0/b.edf"] = missing
    acquire(cfg)
    assert found(tmp_path / "mi") == files
    before = len(server.log)
    acquire(cfg)
    assert len(server.log) == before
