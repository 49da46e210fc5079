"""The one exception that users meet."""

import re


class BenchError(Exception):
    """Something that the user can mend: bad data, a bad option, an absent file.

    The message is one line that names the file or option, what was found, what was expected and what to do.
    Command-line entry points print it without a trace and exit non-zero.
    """


def reader_said(error: Exception) -> str:
    """An error of a library that read a patient's file, on one line, without what it quotes: headers name people."""
    text = re.sub(r"(?<!\w)b?(['\"]).*?\1(?!\w)", "...", str(error), flags=re.DOTALL)
    return " ".join(f"{type(error).__name__}: {text}".split())
