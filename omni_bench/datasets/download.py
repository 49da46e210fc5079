"""Fetching open data sets: OpenNeuro from its public S3 bucket, archives from Hugging Face, each file checked.

Files that are there and whole are not fetched again; a file that was cut off goes on where it ended. `acquire` of a
dataset card is one of `fetch_openneuro` and `fetch_huggingface` with everything but the folder bound.
"""

import hashlib
import tarfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import requests
from rich.progress import track

from omni_bench.errors import BenchError

OPENNEURO = "https://s3.amazonaws.com/openneuro.org"
S3_NAMESPACE = {"s3": "http://s3.amazonaws.com/doc/2006-03-01/"}
TIMEOUT_S = 60
CHUNK = 1 << 16


@dataclass(frozen=True)
class Remote:
    """One file of a data set: its path inside, bytes, and MD5 where the server tells it."""

    path: str
    size: int
    md5: str | None


def fetch_openneuro(root: Path, accession: str, bucket: str = OPENNEURO) -> None:
    """Fetch the current version of an OpenNeuro data set into ``root``.

    Parameters
    ----------
    accession
        For instance ``ds005398``.
    bucket
        Address of the bucket.

    Raises
    ------
    BenchError
        The server cannot be reached, has no such data set, or sends a file whose size or MD5 is not what it announced.
    """
    files = list(_listing(bucket, f"{accession}/"))
    if not files:
        raise BenchError(f"{bucket}: no data set {accession}: correct the card's dataset.acquire.accession")
    for file in track(files, f"fetching {accession}"):
        target = _inside(root, file.path.removeprefix(f"{accession}/"))
        fetch(f"{bucket}/{quote(file.path)}", target, file.size, file.md5)


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


def fetch(url: str, target: Path, size: int, md5: str | None = None) -> Path:
    """Fetch one file, going on with ``<target>.part`` where one is there.

    Parameters
    ----------
    size
        Bytes.
    md5
        Hexadecimal; None where it is not known, then the size alone tells a whole file.

    Raises
    ------
    BenchError
        The server cannot be reached or answers with an error, or what came is not the announced file.
    """
    if _is_whole(target, size, md5):
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.part")
    try:
        _resume(url, part, size)
    except requests.RequestException as error:
        raise BenchError(f"{url}: cannot be fetched ({error}): repeat, it goes on where it ended") from error
    if not _is_whole(part, size, md5):
        part.unlink()
        raise BenchError(f"{url}: what came is not the announced file of {size} bytes with MD5 {md5}: repeat")
    part.replace(target)
    return target


def _is_whole(file: Path, size: int, md5: str | None) -> bool:
    if not file.is_file() or file.stat().st_size != size:
        return False
    if md5 is None:
        return True
    with file.open("rb") as content:
        return hashlib.file_digest(content, "md5").hexdigest() == md5


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
        raise BenchError(f"{archive}: not a whole tar archive ({error}): delete it and fetch it again") from error
