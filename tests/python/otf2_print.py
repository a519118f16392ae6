"""Reads what `otf2-print` prints back into records.

A record is a dict: `location`, `time`, `record` (the event as otf2-print names it), and
its fields under otf2-print's labels in snake case (`# Requested Threads` becomes
`requested_threads`). Additional attributes come under `attributes`.

 - a reference, `"name" <id>`, becomes `Reference(id, name)`; `UNDEFINED` becomes None
 - a rank, `3 ("location" <8>)`, becomes the number: what follows is looked up, not recorded
 - flags, `{A, B}`, become a list; `NONE` among flags is the empty list
 - metric values and attributes become lists of (reference, type, value)
"""

import re
import subprocess
from typing import NamedTuple

EVENT = re.compile(r"([A-Z][A-Z0-9_]*) +(\d+) +(\d+)  ?(.*)")
ATTRIBUTES = re.compile(r" +ADDITIONAL ATTRIBUTES: (.*)")
LABEL = re.compile(r"(?:, )?([A-Z#][A-Za-z0-9/# ]*): ")
N_ARGUMENTS = re.compile(r", (\d+) Arguments?(?:: )?")
N_VALUES = re.compile(r", (\d+) Values?: ")
REFERENCE = re.compile(r'"(.*?)" <(\d+)>')
UNKNOWN_REFERENCE = re.compile(r"[A-Z]+ <(\d+)>")
RANK = re.compile(r'(\d+) \((?:".*?" <\d+>|[A-Z]+)\)')
FLAGS = re.compile(r"\{([A-Z_, ]*)\}")
NUMBER = re.compile(r"-?\d+(?![\w.])")
WORD = re.compile(r"[A-Z_][A-Z0-9_]*(?: <\d+>)?")
TUPLE = re.compile(r"(?:, )?\(")
# Labels under which the word NONE means that no flag is set.
FLAG_LABELS = {"status_flags", "creation_flags", "operation_flags", "level_of_synchronicity"}
FLOATS = {"FLOAT", "DOUBLE"}


class Reference(NamedTuple):
    id: int
    name: str | None


class NotUnderstood(Exception):
    """A line of otf2-print in a form that this module does not know."""


class Cursor:
    """A line and how far it has been read."""

    def __init__(self, text):
        self.text = text
        self.at = 0

    def take(self, pattern):
        found = pattern.match(self.text, self.at)
        if found:
            self.at = found.end()
        return found

    def expect(self, text):
        if not self.text.startswith(text, self.at):
            raise NotUnderstood(f"{text!r} expected at {self.text[self.at:]!r}")
        self.at += len(text)

    def ended(self):
        return self.at == len(self.text)


def value(cursor):
    if found := cursor.take(REFERENCE):
        return Reference(int(found[2]), found[1])
    if found := cursor.take(RANK):
        return int(found[1])
    if found := cursor.take(FLAGS):
        return [flag for flag in found[1].split(", ") if flag]
    if found := cursor.take(NUMBER):
        return int(found[0])
    if found := cursor.take(UNKNOWN_REFERENCE):
        return Reference(int(found[1]), None)
    if found := cursor.take(WORD):
        return None if found[0] == "UNDEFINED" else found[0]
    raise NotUnderstood(f"no value at {cursor.text[cursor.at:]!r}")


def typed_value(cursor):
    """`("name" <id>; TYPE; value)`"""
    if not cursor.take(TUPLE):
        raise NotUnderstood(f"no tuple at {cursor.text[cursor.at:]!r}")
    of = value(cursor)
    cursor.expect("; ")
    kind = value(cursor)
    cursor.expect("; ")
    if kind in FLOATS:
        end = cursor.text.index(")", cursor.at)
        content = float(cursor.text[cursor.at:end])
        cursor.at = end
    else:
        content = value(cursor)
    cursor.expect(")")
    return of, kind, content


def typed_values(cursor):
    found = []
    while not cursor.ended():
        found.append(typed_value(cursor))
    return found


def snake_case(label):
    return label.replace("# ", "").replace("/", "").replace(" ", "_").lower()


def fields(text):
    cursor = Cursor(text)
    found = {}
    while not cursor.ended():
        if cursor.take(N_VALUES):
            found["values"] = typed_values(cursor)
        elif arguments := cursor.take(N_ARGUMENTS):
            found["arguments"] = []
            for i in range(int(arguments[1])):
                if i:
                    cursor.expect(", ")
                found["arguments"].append(value(cursor))
        elif label := cursor.take(LABEL):
            name = snake_case(label[1])
            content = value(cursor)
            found[name] = [] if name in FLAG_LABELS and content == "NONE" else content
        else:
            raise NotUnderstood(f"no field at {text[cursor.at:]!r}")
    return found


def records(lines):
    """The records of otf2-print's output, in its order."""
    last = None
    for line in lines:
        line = line.rstrip("\n")
        if found := EVENT.fullmatch(line):
            if last:
                yield last
            last = {"location": int(found[2]), "time": int(found[3]), "record": found[1]} | fields(found[4])
        elif found := ATTRIBUTES.fullmatch(line):
            last["attributes"] = typed_values(Cursor(found[1]))
    if last:
        yield last


def printed(*arguments):
    """What otf2-print prints. Raises CalledProcessError when it refuses the archive."""
    ended = subprocess.run(["otf2-print", *map(str, arguments)], capture_output=True, text=True,
                           errors="surrogateescape", check=True, timeout=120)
    return ended.stdout


def read(anchor):
    """The records of an archive."""
    return list(records(printed(anchor).splitlines()))


def ticks_per_second(anchor):
    return int(re.search(r"^CLOCK_PROPERTIES .*Ticks per Seconds: (\d+)", printed("-G", anchor), re.MULTILINE)[1])
