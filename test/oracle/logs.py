#!/usr/bin/env python3
"""Answers questions about a file of JSON lines by reading every line. The store's answers are compared with these.

    logs.py FILE CASES            prints an array: for each case its name, count, newest rows, digest and tally
    logs.py FILE CASES --write    writes each answer into its case, under "expect"

FILE is plain or gzip, or - for standard input. The program shares no code with the store and needs only the standard library.

CASES is a JSON array of cases. A case has "ask", a list of conditions that a row must meet in this order. It may have "from"
and "to", milliseconds, both inclusive, and "tally", a field whose values are counted. A condition is one of

    {"field": F, "is": TEXT}                     the field's text is TEXT; an absent field has the text ""
    {"field": F, "in": [TEXT, ...]}
    {"field": F, "contains": TEXT}               add "ignoreCase": true to ignore case
    {"field": F, "matches": REGEX}               searched in the text; add "whole": true to match all of it
    {"field": F, "present": true}
    {"field": F, "above" | "atLeast" | "below" | "atMost": NUMBER}      the text is a number, compared with NUMBER
    {"not": CONDITION}     {"any": [[CONDITION, ...], ...]}
    {"extract": "json" | "logfmt"}   {"extract": "pattern", "pattern": P}   {"extract": "regexp", "regexp": R}

F is message, log_level, timestamp or an attribute. A log level is compared in lower case.

The digest is the SHA-256 of all rows found, each as a line "<nanoseconds> <message>". The newest row is first; rows of equal
time are in the order of arrival.
"""

import gzip
import hashlib
import json
import re
import sys

NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.IGNORECASE | re.ASCII)
SPACE = " \t\n\r"


def read_rows(path):
    raw = sys.stdin.buffer if path == "-" else open(path, "rb")
    if path != "-" and raw.read(2) == b"\x1f\x8b":
        raw = gzip.open(path, "rb")
    elif path != "-":
        raw.seek(0)
    for arrival, line in enumerate(raw):
        row = json.loads(line)
        yield arrival, int(row["timeUnixNano"]), row.get("log_level", ""), row["message"], row["attributes"]


class Row:
    """A row with the attributes that were stored, and those that conditions have extracted so far."""

    def __init__(self, arrival, time_ns, level, message, attributes):
        self.arrival, self.time_ns, self.level, self.message = arrival, time_ns, level, message
        self.stored, self.extracted = attributes, {}

    def field(self, name):
        if name == "message":
            return self.message
        if name == "log_level":
            return self.level.lower()
        if name == "timestamp":
            return str(self.time_ns // 1_000_000)
        return self.extracted.get(name, self.stored.get(name))

    def put(self, name, value):
        if name in self.stored:
            name += "_extracted"
        if name and name not in self.stored and len(self.extracted) < 1000:
            self.extracted.setdefault(name, value)


def fold(text):
    def lower(c):
        small = c.lower()
        return small if len(small) == 1 and (ord(c) < 128) == (ord(small) < 128) else c

    return text.lower() if text.isascii() else "".join(map(lower, text))


def compares(text, condition):
    if not NUMBER.fullmatch(text):
        return False
    value = float(text)
    return (
        ("above" in condition and value > condition["above"])
        or ("atLeast" in condition and value >= condition["atLeast"])
        or ("below" in condition and value < condition["below"])
        or ("atMost" in condition and value <= condition["atMost"])
    )


def holds(row, condition):
    if "extract" in condition:
        EXTRACTORS[condition["extract"]](row, condition)
        return True
    if "not" in condition:
        return not holds(row, condition["not"])
    if "any" in condition:
        return any(all(holds(row, part) for part in parts) for parts in condition["any"])
    text = row.field(condition["field"])
    if "present" in condition:
        return (text is not None) == condition["present"]
    text = "" if text is None else text
    if "is" in condition:
        return text == condition["is"]
    if "in" in condition:
        return text in condition["in"]
    if "contains" in condition:
        if condition.get("ignoreCase"):
            return fold(condition["contains"]) in fold(text)
        return condition["contains"] in text
    if "matches" in condition:
        find = re.fullmatch if condition.get("whole") else re.search
        return find(condition["matches"], text, re.ASCII) is not None
    return compares(text, condition)


def extract_json(row, _condition):
    text = row.message
    if not text.strip(SPACE):
        return
    found = []
    try:
        end = json_object(text, skip(text, 0), "", found, 1)
        if skip(text, end) != len(text):
            raise ValueError
    except (ValueError, IndexError, StopIteration):
        found = [("__error__", "JSONParserErr")]
    for name, value in found:
        row.put(name, value)


def refuse(constant):
    raise ValueError(constant)


DECODER = json.JSONDecoder(parse_constant=refuse)


def skip(text, at):
    while at < len(text) and text[at] in SPACE:
        at += 1
    return at


def json_object(text, at, outer, found, depth):
    """Reads the object that begins at index `at`, appends (name, text) for its members, and returns the index of its end."""
    if text[at] != "{":
        raise ValueError
    at = skip(text, at + 1)
    if text[at] == "}":
        return at + 1
    while True:
        if text[at] != '"':
            raise ValueError
        key, at = DECODER.raw_decode(text, at)
        at = skip(text, at)
        if text[at] != ":":
            raise ValueError
        at = json_member(text, skip(text, at + 1), outer + key, found, depth)
        at = skip(text, at)
        if text[at] == "}":
            return at + 1
        if text[at] != ",":
            raise ValueError
        at = skip(text, at + 1)


def json_member(text, at, name, found, depth):
    if text[at] == "{" and depth < 32:
        return json_object(text, at, name + ".", found, depth + 1)
    value, end = DECODER.raw_decode(text, at)
    if isinstance(value, str):
        found.append((name, value))
    elif value is not None:
        found.append((name, text[at:end]))
    return end


LOGFMT = re.compile(r'[\x00-\x20]+|(?P<key>[^\x00-\x20="]+)(?:=(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<open>")|(?P<bare>[^\x00-\x20]*)))?|[^\x00-\x20]+', re.DOTALL)
ESCAPE = re.compile(r'\\(u[0-9a-fA-F]{4}|["\\/bfnrt])')


def extract_logfmt(row, _condition):
    for token in LOGFMT.finditer(row.message):
        if token["open"] is not None:
            return
        if token["quoted"] is not None:
            row.put(token["key"], ESCAPE.sub(lambda e: json.loads('"' + e[0] + '"'), token["quoted"]))
        elif token["bare"] is not None:
            row.put(token["key"], token["bare"])


def extract_pattern(row, condition):
    pieces = re.split(r"<([A-Za-z_][A-Za-z0-9_.]*)>", condition["pattern"])
    text = row.message
    if not text or not text.startswith(pieces[0]):
        return
    at = len(pieces[0])
    for name, literal in zip(pieces[1::2], pieces[2::2]):
        end = text.find(literal, at) if literal else -1
        if name != "_":
            row.put(name, text[at:] if end < 0 else text[at:end])
        if end < 0:
            return
        at = end + len(literal)


def extract_regexp(row, condition):
    found = re.search(condition["regexp"], row.message, re.ASCII)
    for name, value in (found.groupdict() if found else {}).items():
        if value is not None:
            row.put(name, value)


EXTRACTORS = {"json": extract_json, "logfmt": extract_logfmt, "pattern": extract_pattern, "regexp": extract_regexp}


def answer(case, found):
    found.sort(key=lambda row: (-row[0], row[1]))
    digest = hashlib.sha256()
    tally = {}
    for time_ns, _arrival, message, value in found:
        digest.update(f"{time_ns} {message}\n".encode("utf-8", "surrogatepass"))
        if value is not None:
            tally[value] = tally.get(value, 0) + 1
    result = {"count": len(found), "newest": [str(row[0]) for row in found[:3]], "digest": digest.hexdigest()}
    if "tally" in case:
        result["tally"] = dict(sorted(tally.items()))
    return result


def answers(rows, cases):
    found = [[] for _ in cases]
    for fields in rows:
        time_ms = fields[1] // 1_000_000
        for case, hits in zip(cases, found):
            if not case.get("from", time_ms) <= time_ms <= case.get("to", time_ms):
                continue
            row = Row(*fields)
            if all(holds(row, condition) for condition in case["ask"]):
                hits.append((row.time_ns, row.arrival, row.message, row.field(case["tally"]) if "tally" in case else None))
    return [answer(case, hits) for case, hits in zip(cases, found)]


def main():
    path, cases_path = sys.argv[1:3]
    with open(cases_path, encoding="utf-8") as file:
        cases = json.load(file)
    results = answers(read_rows(path), cases)
    if "--write" in sys.argv[3:]:
        for case, result in zip(cases, results):
            case["expect"] = result
        with open(cases_path, "w", encoding="utf-8") as file:
            json.dump(cases, file, ensure_ascii=False, indent=2)
            file.write("\n")
    else:
        json.dump([{"name": case["name"], **result} for case, result in zip(cases, results)], sys.stdout, indent=2)


if __name__ == "__main__":
    main()
