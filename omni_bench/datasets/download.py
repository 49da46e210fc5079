"""Fetching open data sets from OpenNeuro, Hugging Face, PhysioNet, Zenodo and figshare, each file checked.

Files that are there and whole are not fetched again; a file that was cut off goes on where it ended. `acquire` of a
dataset card is one of the functions for these sites with everything but the folder bound.
"""

import errno
import hashlib
import json
import re
import tarfile
import xml.etree.ElementTree as ElementTree
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import requests
from rich.progress import track

from omni_bench.errors import BenchError

OPENNEURO = "https://s3.amazonaws.com/openneuro.org"
PHYSIONET = "https://physionet.org/files"
ZENODO = "https://zenodo.org/api/records"
FIGSHARE = "https://api.figshare.com/v2/articles"
DESCRIPTION = "dataset_description.json"
S3_NAMESPACE = {"s3": "http://s3.amazonaws.com/doc/2006-03-01/"}
TIMEOUT_S = 60
CHUNK = 1 << 16


@dataclass(frozen=True)
class Remote:
    """One file of a data set: its path inside, bytes, and MD5 where the server tells it."""

    path: str
    size: int
    md5: str | None


def fetch_openneuro(root: Path, accession: str, version: str, bucket: str = OPENNEURO) -> None:
    """Fetch an OpenNeuro data set into ``root``.

    The public bucket lists the current version only, so nothing is fetched where that is not the wanted one.

    Parameters
    ----------
    accession, version
        For instance ``ds005398`` and ``1.0.1``.
    bucket
        Address of the bucket.

    Raises
    ------
    BenchError
        The server cannot be reached, has no such data set, has another version of it by the DOI in its
        dataset_description.json, or sends a file whose size or MD5 is not what it announced.
    """
    files = list(_listing(bucket, f"{accession}/"))
    if not files:
        raise BenchError(f"{bucket}: no data set {accession}: correct the card's dataset.acquire.accession")
    files.sort(key=lambda file: file.path != f"{accession}/{DESCRIPTION}")
    for file in track(files, f"fetching {accession}"):
        target = _inside(root, file.path.removeprefix(f"{accession}/"))
        fetch(f"{bucket}/{quote(file.path)}", target, file.size, file.md5)
        if target == root.resolve() / DESCRIPTION:
            check_version(target, accession, version)


def check_version(description: Path, accession: str, version: str) -> None:
    """Raise BenchError unless the DOI in an OpenNeuro data set's description ends in this version."""
    try:
        doi = str(json.loads(description.read_text("utf-8-sig"))["DatasetDOI"])
    except (ValueError, KeyError, TypeError):
        doi = ""
    found = re.search(rf"openneuro\.{accession}\.v(\S+)$", doi)
    current = found[1] if found else "unknown"
    if current != version:
        raise BenchError(
            f"{accession}: OpenNeuro has version {current} by its {DESCRIPTION}, the card states {version}: say "
            f"dataset.version={current} to fetch that one"
        )


def fetch_huggingface(root: Path, repo: str, revision: str = "main", endpoint: str | None = None) -> None:
    """Fetch a Hugging Face data set into ``root``, unpack its ``*.tar`` in place and remove them.

    An archive that was unpacked is not fetched again.

    Raises
    ------
    BenchError
        The hub cannot be reached, has no such data set or revision, or an archive is broken or leaves its folder.
    """
    from huggingface_hub import HfApi, hf_hub_download

    try:
        names = HfApi(endpoint=endpoint).list_repo_files(repo, repo_type="dataset", revision=revision)
        for name in track(names, f"fetching {repo}"):
            target = _inside(root, name)
            done = target.with_name(f".{target.name}.unpacked")
            if done.is_file():
                continue
            hf_hub_download(repo, name, repo_type="dataset", revision=revision, local_dir=root, endpoint=endpoint)
            if target.suffix == ".tar":
                unpack(target, target.parent)
                target.unlink()
                done.touch()
    except BenchError:
        raise
    except Exception as error:
        # the errors of the hub's HTTP library pass through, and that library changes with the hub's major version
        if isinstance(error, OSError) and error.errno:
            raise
        why = str(error).splitlines()[0]
        raise BenchError(f"{repo}: cannot be fetched from Hugging Face ({why}): repeat, it goes on") from error


def fetch_physionet(root: Path, project: str, version: str, include: str = "", server: str = PHYSIONET) -> None:
    """Fetch the files of a PhysioNet project, as its list of SHA-256 sums names them.

    Parameters
    ----------
    project, version
        As in the address of its page: ``eegmat``, ``1.0.0``.
    include
        Regular expression of wanted paths; by default all.

    Raises
    ------
    BenchError
        The server cannot be reached, has no such project, lists nothing that is wanted, or sends another file.
    """
    place = f"{server}/{project}/{version}"
    lines = _get(f"{place}/SHA256SUMS.txt").text.splitlines()
    files = [line.split(maxsplit=1) for line in lines if line.strip()]
    wanted = [(sha256, name) for sha256, name in files if re.search(include, name)]
    if not wanted:
        raise BenchError(
            f"{place}: none of its {len(files)} files fits {include!r}: correct the card's dataset.acquire"
        )
    for sha256, name in track(wanted, f"fetching {project}"):
        fetch(f"{place}/{quote(name)}", _inside(root, name), sha256=sha256)


def fetch_zenodo(root: Path, record: str, include: str = "", unpack: bool = False, server: str = ZENODO) -> None:
    """Fetch the files of a Zenodo record; ``unpack`` its zip archives, and those in them, in place.

    Raises
    ------
    BenchError
        As `fetch_physionet`.
    """
    files = _get(f"{server}/{record}").json()["files"]
    addresses = {
        Remote(file["key"], int(file["size"]), file["checksum"].removeprefix("md5:")): file["links"]["self"]
        for file in files
    }
    _fetch_listed(root, f"Zenodo record {record}", include, addresses)
    if unpack:
        unpack_zips(root)


def fetch_figshare(root: Path, article: str, include: str = "", unpack: bool = False, server: str = FIGSHARE) -> None:
    """Fetch the files of a figshare article; ``unpack`` its zip archives, and those in them, in place.

    Raises
    ------
    BenchError
        As `fetch_physionet`.
    """
    files = _get(f"{server}/{article}/files?page_size=1000").json()
    addresses = {
        Remote(file["name"], int(file["size"]), file.get("computed_md5") or None): file["download_url"]
        for file in files
    }
    _fetch_listed(root, f"figshare article {article}", include, addresses)
    if unpack:
        unpack_zips(root)


def _fetch_listed(root: Path, title: str, include: str, addresses: dict[Remote, str]) -> None:
    wanted = {file: url for file, url in addresses.items() if re.search(include, file.path)}
    if not wanted:
        raise BenchError(
            f"{title}: none of its {len(addresses)} files fits {include!r}: correct the card's dataset.acquire"
        )
    for file, url in track(wanted.items(), f"fetching {title}"):
        fetch(url, _inside(root, file.path), file.size, file.md5)


def _get(url: str) -> requests.Response:
    try:
        answer = requests.get(url, timeout=TIMEOUT_S)
        answer.raise_for_status()
    except requests.RequestException as error:
        raise BenchError(f"{url}: cannot be read ({error}): check the connection and repeat") from error
    return answer


def fetch(url: str, target: Path, size: int | None = None, md5: str | None = None, sha256: str | None = None) -> Path:
    """Fetch one file, going on with ``<target>.part`` where one is there.

    Parameters
    ----------
    size
        Bytes; None asks the server.
    md5, sha256
        Hexadecimal; without either, the size alone tells a whole file.

    Raises
    ------
    BenchError
        The server cannot be reached or answers with an error, or what came is not the announced file.
    """
    digest = ("sha256", sha256) if sha256 else ("md5", md5) if md5 else None
    if (size is not None or digest) and _is_whole(target, size, digest):
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.part")
    try:
        size = _size(url) if size is None else size
        _resume(url, part, size)
    except requests.RequestException as error:
        raise BenchError(f"{url}: cannot be fetched ({error}): repeat, it goes on where it ended") from error
    if not _is_whole(part, size, digest):
        part.unlink()
        announced = f" with {digest[0].upper()} {digest[1]}" if digest else ""
        raise BenchError(f"{url}: what came is not the announced file of {size} bytes{announced}: repeat")
    part.replace(target)
    return target


def _size(url: str) -> int:
    """Bytes of a file, uncompressed."""
    answer = requests.head(url, headers={"Accept-Encoding": "identity"}, allow_redirects=True, timeout=TIMEOUT_S)
    answer.raise_for_status()
    if "Content-Length" not in answer.headers:
        raise requests.ConnectionError("the server does not tell its length")
    return int(answer.headers["Content-Length"])


def _is_whole(file: Path, size: int | None, digest: tuple[str, str] | None) -> bool:
    if not file.is_file() or (size is not None and file.stat().st_size != size):
        return False
    if digest is None:
        return True
    with file.open("rb") as content:
        return hashlib.file_digest(content, digest[0]).hexdigest() == digest[1]


def _resume(url: str, part: Path, size: int) -> None:
    have = part.stat().st_size if part.is_file() else 0
    if have > size:
        part.unlink()
        have = 0
    if have < size or size == 0:
        with requests.get(
            url, headers={"Range": f"bytes={have}-"} if have else {}, stream=True, timeout=TIMEOUT_S
        ) as answer:
            answer.raise_for_status()
            # 200 instead of 206: the server sends the whole file again
            with part.open("ab" if answer.status_code == requests.codes.partial_content else "wb") as file:
                for block in answer.iter_content(CHUNK):
                    file.write(block)
    if part.stat().st_size != size:
        raise requests.ConnectionError(f"{part.stat().st_size} of {size} bytes came")


def _listing(bucket: str, prefix: str) -> Iterator[Remote]:
    """Files below a prefix, by S3's ListObjectsV2."""
    token: str | None = None
    while True:
        query = {"list-type": "2", "prefix": prefix} | ({"continuation-token": token} if token else {})
        try:
            answer = requests.get(f"{bucket}/", params=query, timeout=TIMEOUT_S)
            answer.raise_for_status()
            page = ElementTree.fromstring(answer.content)
        except (requests.RequestException, ElementTree.ParseError) as error:
            raise BenchError(f"{bucket}: cannot be listed ({error}): check the connection and repeat") from error
        for entry in page.findall("s3:Contents", S3_NAMESPACE):
            etag = entry.findtext("s3:ETag", "", S3_NAMESPACE).strip('"')
            # an ETag with a hyphen is that of a multipart upload, which is no MD5 of the file
            yield Remote(
                entry.findtext("s3:Key", "", S3_NAMESPACE),
                int(entry.findtext("s3:Size", "0", S3_NAMESPACE)),
                None if "-" in etag else etag,
            )
        token = page.findtext("s3:NextContinuationToken", None, S3_NAMESPACE)
        if not token:
            return


def _inside(root: Path, name: str) -> Path:
    target = (root / name).resolve()
    if not target.is_relative_to(root.resolve()):
        raise BenchError(
            f"{name}: leaves the folder {root}: nothing was written; report it to those who publish the data"
        )
    return target


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a tar archive into ``folder``; nothing is written unless every member stays inside.

    Raises
    ------
    BenchError
        Not a whole tar archive, or a member that would leave the folder, or is no plain file, folder or link inside it.
    """
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                tarfile.data_filter(member, str(folder))
            tar.extractall(folder, filter="data")
    except tarfile.FilterError as error:
        raise BenchError(
            f"{archive}: member {error.tarinfo.name!r} would leave {folder}: nothing was unpacked; do not use it"
        ) from error
    except tarfile.TarError as error:
        why = str(error).splitlines()[0]
        raise BenchError(f"{archive}: not a whole tar archive ({why}): delete it and fetch it again") from error


def unpack_zips(root: Path) -> None:
    """Unpack every zip below a folder in place, whatever it holds too, and remove it.

    Raises
    ------
    BenchError
        No whole archive, or a member that would leave the folder.
    """
    while archives := sorted(root.rglob("*.zip")):
        for archive in archives:
            folder = archive.parent.resolve()
            try:
                with zipfile.ZipFile(archive) as content:
                    outside = [n for n in content.namelist() if not (folder / n).resolve().is_relative_to(folder)]
                    if outside:
                        raise BenchError(f"{archive}: member {outside[0]!r} would leave {folder}: nothing was unpacked")
                    content.extractall(folder)
            except Exception as error:  # a broken archive can fail in any way
                if isinstance(error, BenchError) or (isinstance(error, OSError) and error.errno != errno.EINVAL):
                    raise
                raise BenchError(f"{archive}: not a whole archive ({error}): delete it and fetch it again") from error
            archive.unlink()
