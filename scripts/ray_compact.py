#!/usr/bin/env python3
"""Compacts an archive on a Ray cluster: a `ctxpack filter` beside each worker, retries, progress, errors, one report.

usage: ray_compact.py INPUT... --out-dir DIR [--column NAME] [--workers N] [-- FLAGS OF ctxpack filter]

An INPUT is a file or a folder, which is searched for *.jsonl, *.jsonl.gz, *.jsonl.zst and *.parquet. Without --column, each
.jsonl file is a transcript, as for `ctxpack compact`. With --column, a file holds records: the lines of a .jsonl or .jsonl.gz
file, or the rows of a .parquet file, and that member or column holds the conversation. For `--column .`, lines are records of
conversations themselves. Outputs have the names of the inputs below DIR; rows of Parquet get a column `error` beside the others,
records of JSONL a member.

Inputs and DIR are paths that all workers see: a shared or mounted file system. DIR also gets `errors.jsonl`, one line for each
record that was not compacted, and `ctxpack.stats.json`, the report on all of them. What is in DIR already is done again, unless
--resume is given: then outputs that are there are left alone, and are not in the report.

Needs Python 3.9, `pip install 'ray[data]'`, and ctxpack on each worker (--binary).

exit codes: 0 done; 2 wrong arguments; 3 done, but some records or files have errors
"""

import argparse
import base64
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import cluster.child  # noqa: E402 (the line above must come first)
from cluster.child import Filter, failed  # noqa: E402

TRANSCRIPTS = (".jsonl", ".jsonl.gz", ".jsonl.zst")
RECORDS = (".jsonl", ".jsonl.gz", ".parquet")
# Records that are on their way to a child at a time, and rows of Parquet in memory.
AT_ONCE = 256
# Small files go to a worker together.
FILES_AT_ONCE = 64
# What a worker calls an output until it is whole.
PART = re.compile(r"\.(.+)\.\d+\.part", re.S)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("inputs", nargs="+", type=Path, metavar="INPUT")
    parser.add_argument("--out-dir", required=True, type=Path, metavar="DIR")
    parser.add_argument("--column", metavar="NAME", help="what holds the conversation of a record; . for the record itself")
    parser.add_argument("--workers", default=2, type=int, metavar="N")
    parser.add_argument("--cpus", default=1, type=int, metavar="N", help="of each worker, and threads of its child")
    parser.add_argument("--address", help="of a running cluster, or auto [default: this machine alone]")
    parser.add_argument("--binary", default="ctxpack")
    parser.add_argument("--retries", default=2, type=int, metavar="N", help="for a record that ends the child")
    parser.add_argument("--resume", action="store_true", help="leave outputs alone that are there")
    arguments = sys.argv[1:]
    flags = []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, flags = arguments[:at], arguments[at + 1:]
    args = parser.parse_args(arguments)
    units = list(found(parser, args))
    if args.resume:
        units = [unit for unit in units if not (args.out_dir / unit["output"]).exists()]
    flags += ["-j", str(args.cpus)]
    if not args.column and "--store" not in flags:
        flags += ["--store", str(args.out_dir.resolve() / ".ctxpack")]
    if args.column and args.column != ".":
        flags += ["--field", args.column]
    # What is wrong with the flags is said once, not by each worker; and this is how the report begins.
    head = empty_report(parser, args, flags)
    args.out_dir.mkdir(parents=True, exist_ok=True)
    return run(args, units, flags, head)


def found(parser, args):
    """What is to be done: the path of an input, and that of its output below the output folder."""
    endings = RECORDS if args.column else TRANSCRIPTS
    own = args.out_dir.resolve()
    taken = {}
    for given in args.inputs:
        if not given.exists():
            parser.error(f"{given}: no such file or folder")
        paths = [given] if given.is_file() else sorted(
            path for path in given.rglob("*")
            if path.name.endswith(endings) and path.is_file()
            and ".ctxpack" not in path.parts and own not in path.resolve().parents)
        for path in paths:
            output = path.name if given.is_file() else path.relative_to(given).as_posix()
            if taken.setdefault(output, path) != path:
                parser.error(f"{path} and {taken[output]} would have one output")
            yield {"input": str(path.resolve()), "output": output}


def empty_report(parser, args, flags):
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "empty.jsonl"
        command = [args.binary, "-q", "filter", *flags, "--report", str(report)]
        try:
            ran = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        except OSError as error:
            parser.error(f"cannot run {args.binary}: {error.strerror}; --binary says where it is")
        if ran.returncode:
            sys.exit(2)
        head = json.loads(report.read_text("utf-8").splitlines()[-1])
    # The sums are those of the rows, which are not known yet: `report merge` adds them up.
    head["totals"] = {}
    return json.dumps(head)


class Compacter:
    """A worker: its child lives as long as it does."""

    def __init__(self, out_dir, column, binary, flags, retries):
        self.out_dir, self.column = Path(out_dir), column
        self.filter = Filter(binary, flags, retries)

    def __call__(self, batch):
        units = [{"input": str(i), "output": str(o)} for i, o in zip(batch["input"], batch["output"])]
        rows = self.transcripts(units) if self.column is None else [row for unit in units for row in self.records(unit)]
        return {
            "output": [row[0] for row in rows],
            "record": [row[1] for row in rows],
            "stats": [json.dumps(row[2]) for row in rows],
        }

    def transcripts(self, units):
        """Whole files, each a record."""
        lines, rows = [], []
        asked = []
        for unit in units:
            try:
                line = packed(unit["output"], Path(unit["input"]).read_bytes())
            except OSError as error:
                rows.append((unit["output"], 0, failed(unit["output"], error)))
                continue
            asked.append(unit)
            lines.append(line)
        for unit, (answer, stats) in zip(asked, self.filter.ask(lines)):
            stats = stats or failed(unit["output"], "no answer")
            try:
                # What could not be read has no output, as from `compact`.
                if stats["status"] not in ("failed", "skipped"):
                    write(self.out_dir / unit["output"], unpacked(answer))
            except OSError as error:
                stats = failed(unit["output"], error)
            rows.append((unit["output"], 0, stats))
        return rows

    def records(self, unit):
        """A file of records, each with a row; a file that fails as a whole has one."""
        output = self.out_dir / unit["output"]
        output.parent.mkdir(parents=True, exist_ok=True)
        part = output.with_name(f".{output.name}.{os.getpid()}.part")
        rows = []
        try:
            work = self.rows if unit["input"].endswith(".parquet") else self.lines
            for number, stats in enumerate(work(Path(unit["input"]), part), 1):
                stats["input"] = f"{unit['output']}:{number}"
                rows.append((unit["output"], number, stats))
            os.replace(part, output)
        except Exception as error:  # Whatever is wrong with one file, the others go on.
            rows = [(unit["output"], 0, failed(unit["output"], error))]
            part.unlink(missing_ok=True)
        return rows

    def lines(self, source, part):
        is_packed = source.name.endswith(".gz")
        with (gzip.open(source) if is_packed else open(source, "rb")) as lines, open(part, "wb") as plain:
            # The same bytes each time: without a name or a time.
            out = gzip.GzipFile("", "wb", fileobj=plain, mtime=0) if is_packed else plain
            for some in several(lines):
                # Only the last can lack its line end.
                ended = [line if line.endswith(b"\n") else line + b"\n" for line in some]
                for line, (answer, stats) in zip(some, self.filter.ask(ended)):
                    out.write(answer if line.endswith(b"\n") else answer[:-1])
                    yield stats or failed("", "the line is not a JSON object", "bad_line")
            if is_packed:
                out.close()

    def rows(self, source, part):
        import pyarrow
        from pyarrow import parquet

        file = parquet.ParquetFile(source)
        schema = file.schema_arrow
        column = schema.get_field_index(self.column)
        kinds = (pyarrow.string(), pyarrow.large_string())
        if column < 0 or schema.field(column).type not in kinds:
            raise ValueError(f"there is no column {self.column} of strings")
        name = "error" if "error" not in schema.names else "ctxpack_error"
        error_type = pyarrow.struct([("kind", pyarrow.string()), ("message", pyarrow.string())])
        wide = schema.append(pyarrow.field(name, error_type))
        packing = file.metadata.row_group(0).column(0).compression if file.metadata.num_row_groups else "SNAPPY"
        with parquet.ParquetWriter(part, wide, compression="NONE" if packing == "UNCOMPRESSED" else packing) as writer:
            for batch in file.iter_batches(AT_ONCE):
                texts = batch.column(column).to_pylist()
                there = [n for n, text in enumerate(texts) if text is not None]
                lines = [json.dumps({self.column: texts[n]}).encode() + b"\n" for n in there]
                errors = [None] * len(texts)
                all_stats = [failed("", "the row has no text", "bad_line") for _ in texts]
                for n, (answer, stats) in zip(there, self.filter.ask(lines)):
                    texts[n] = json.loads(answer)[self.column]
                    all_stats[n] = stats
                    errors[n] = reason(stats)
                for n in set(range(len(texts))) - set(there):
                    errors[n] = reason(all_stats[n])
                columns = batch.columns
                columns[column] = pyarrow.array(texts, schema.field(column).type)
                columns.append(pyarrow.array(errors, error_type))
                writer.write_batch(pyarrow.RecordBatch.from_arrays(columns, schema=wide))
                yield from all_stats


def several(lines):
    some = []
    for line in lines:
        some.append(line)
        if len(some) == AT_ONCE:
            yield some
            some = []
    if some:
        yield some


def packed(path, data):
    """The record that `ctxpack pack-lines` writes."""
    try:
        record = {"path": path, "text": data.decode("utf-8")}
    except UnicodeDecodeError:
        record = {"path": path, "base64": base64.b64encode(data).decode()}
    return json.dumps(record).encode() + b"\n"


def unpacked(line):
    record = json.loads(line)
    return record["text"].encode() if "text" in record else base64.b64decode(record["base64"])


def write(path, data):
    """All of it, or nothing: a worker that is killed leaves no half output."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(data)
        os.replace(part, path)
    except OSError:
        part.unlink(missing_ok=True)
        raise


def reason(stats):
    """Why a record was not compacted, or None."""
    if stats.get("error"):
        return {"kind": stats["error"]["kind"], "message": stats["error"]["message"]}
    if stats["status"] != "unsupported":
        return None
    said = [warning["message"] for warning in stats["warnings"] if warning["kind"] == "unsupported"]
    return {"kind": "unsupported", "message": (said or ["not a known transcript format"])[0]}


def run(args, units, flags, head):
    import ray

    # Workers on other machines need not have this folder.
    ray.cloudpickle.register_pickle_by_value(cluster.child)
    ray.init(address=args.address)
    # A worker that dies is started again by Ray, and its block done again; what dies each time is listed at the end.
    ray.data.DataContext.get_current().max_errored_blocks = -1
    failures, lost = 0, {unit["output"] for unit in units}
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.jsonl"
        with open(rows, "w", encoding="utf-8") as all_rows, open(args.out_dir / "errors.jsonl", "w", encoding="utf-8") as errors:

            def note(output, number, stats):
                nonlocal failures
                all_rows.write(json.dumps(stats) + "\n")
                why = reason(stats)
                if why:
                    failures += why["kind"] != "unsupported"
                    errors.write(json.dumps({"path": output, "record": number or None, **why}) + "\n")

            for row in outcomes(ray, args, units, flags):
                lost.discard(row["output"])
                note(row["output"], int(row["record"]), json.loads(row["stats"]))
            for output in sorted(lost):
                note(output, 0, failed(output, "no worker has finished it"))
            all_rows.write(head + "\n")
        report = args.out_dir / "ctxpack.stats.json"
        merged = subprocess.run([args.binary, "-q", "report", "merge", str(rows), "-o", str(report)])
    ray.shutdown()
    sweep(args.out_dir, units)
    if merged.returncode:
        return 2
    totals = json.loads(report.read_text("utf-8"))["totals"]
    print("ray_compact: " + ", ".join(f"{totals[key]} {key}" for key in ["files", "compacted", "unchanged", "unsupported", "failed"])
          + f"; {totals['tokens_before']} to {totals['tokens_after']} tokens", file=sys.stderr)
    return 3 if failures else 0


def sweep(out_dir, units):
    """Removes what workers that died had begun to write; none of them is left."""
    names = {}
    for unit in units:
        output = out_dir / unit["output"]
        names.setdefault(output.parent, set()).add(output.name)
    for folder, outputs in names.items():
        for path in folder.glob(".*.part") if folder.is_dir() else []:
            begun = PART.fullmatch(path.name)
            if begun and begun[1] in outputs:
                path.unlink(missing_ok=True)


def outcomes(ray, args, units, flags):
    if not units:
        return []
    at_once = FILES_AT_ONCE if args.column is None else 1
    blocks = max(1, min(-(-len(units) // at_once), 100_000))
    return ray.data.from_items(units, override_num_blocks=blocks).map_batches(
        Compacter,
        fn_constructor_args=(str(args.out_dir.resolve()), args.column, args.binary, flags, args.retries),
        batch_size=at_once,
        concurrency=(1, args.workers),
        num_cpus=args.cpus,
    ).iter_rows()


if __name__ == "__main__":
    sys.exit(main())
