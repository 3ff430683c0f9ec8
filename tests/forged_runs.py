"""Run files as a stranger may send them: good ones, changed byte by byte or field by field with the sums put right.

`python tests/forged_runs.py FOLDER SEED COUNT` reads that many of them, and takes up the recordings among them. It ends
with 0 if nothing but the library's own errors was raised, and prints what else was. A crash is seen by whoever started
it; the number of the case is in FOLDER/case.
"""

import contextlib
import copy
import json
import random
import signal
import struct
import sys
import traceback
import warnings
import zlib
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

import dalembert as da
from dalembert import zoo
from dalembert.simulation.files.format import check_sum, to_json

NUMBERS = [
    0, 1, -1, -5, 7, 10**6, 10**12, 2**31, 2**53, 2**62, -(2**62), 2**63 - 1, 10**30, 10**400, 0.0, -0.0, 0.5, -1.5,
    1e-300, 1e9, 1e300, -1e300, float("nan"), float("inf"), float("-inf"),
]  # fmt: skip
VALUES = [*NUMBERS, None, True, "", "A", "x" * 3000, [], [[]], [1, "A"], {}, {"from": 3}, [[1.0, [2.0]]]]


@dataclass
class Taken:
    """A file taken apart: its header, and columns, resume vectors and notes of each batch."""

    facts: dict
    batches: list = field(default_factory=list)  # [columns (n, N), {name: [kind, hex]}, notes]

    @classmethod
    def apart(cls, path):
        with pa.ipc.open_stream(path) as reader:
            self = cls(json.loads(reader.schema.metadata[b"dalembert"]))
            while True:
                try:
                    batch, texts = reader.read_next_batch_with_custom_metadata()
                except StopIteration:
                    return self
                columns = np.array([c.to_numpy() for c in batch.columns])
                self.batches.append([columns, json.loads(texts[b"resume"]), json.loads(texts[b"notes"])])

    def write(self, path, names=None, **options):
        """With sums that are right."""
        names = names or _columns(self.facts)
        text = to_json(self.facts)
        about = {"dalembert": text, "crc32": str(zlib.crc32(text.encode()))}
        schema = pa.schema([(n, pa.float64()) for n in names], metadata=about)
        with pa.ipc.new_stream(path, schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
            for columns, resume, notes in self.batches:
                texts = {"resume": json.dumps(resume), "notes": to_json(notes)}
                texts["crc32"] = str(check_sum(columns, texts))
                writer.write_batch(pa.record_batch(list(columns), schema=schema), custom_metadata=texts)


def _columns(facts):
    q, v, more = (facts.get(key) for key in ("q_names", "v_names", "extra"))
    lists = [x if isinstance(x, list) else [] for x in (q, v, more)]
    return ["t", *(f"q.{n}" for n in lists[0]), *(f"v.{n}" for n in lists[1]), *(str(n) for n in lists[2])]


# --- changes ----------------------------------------------------------------------------------------------------------


def bytes_changed(good, path, r):
    """Some bytes other ones, a stretch moved, taken away, repeated or filled."""
    data = bytearray(good.read_bytes())
    for _ in range(r.choice([1, 1, 2, 8])):
        a, n = r.randrange(len(data)), r.choice([1, 1, 4, 8, 64, 1000])
        kind = r.randrange(6)
        if kind == 0:
            data[a] ^= 1 << r.randrange(8)
        elif kind == 1:
            data[a : a + n] = r.randbytes(len(data[a : a + n]))
        elif kind == 2:
            del data[a : a + n]
        elif kind == 3:
            data[a:a] = data[r.randrange(len(data)) :][:n]
        elif kind == 4:
            data[a : a + n] = bytes([r.choice([0, 255])]) * len(data[a : a + n])
        else:
            del data[a:]
        if not data:
            break
    path.write_bytes(data)


def sizes_changed(good, path, r):
    """A number of Arrow's own, such as a length or an offset, another one."""
    data = bytearray(good.read_bytes())
    end = len(data) - 8
    for _ in range(r.choice([1, 1, 2])):
        kind, width = r.choice([("<q", 8), ("<i", 4)])
        known = [k for k in range(0, end, width) if -4000 < struct.unpack_from(kind, data, k)[0] < 4000]
        value = r.choice([x for x in NUMBERS if isinstance(x, int) and abs(x) < 2 ** (8 * width - 1)])
        struct.pack_into(kind, data, r.choice(known), value)
    path.write_bytes(data)


def facts_changed(good, path, r):
    """A value somewhere in the header, the notes or the vectors another one."""
    file = Taken.apart(good)
    for _ in range(r.choice([1, 1, 2])):
        batch = r.choice(file.batches)
        _change(r.choice([file.facts, batch[1], batch[2]]), r)
    try:
        file.write(path)
    except (pa.ArrowException, ValueError, TypeError):  # no columns for such a header
        bytes_changed(good, path, r)


def _change(x, r):
    """Go down at random, and change what is there."""
    while True:
        keys = list(x) if isinstance(x, dict) else list(range(len(x)))
        if not keys:
            return
        key = r.choice(keys)
        deeper = isinstance(x[key], dict | list) and len(x[key]) and r.random() < 0.8
        if not deeper:
            break
        x = x[key]
    kind = r.randrange(4)
    if kind == 0:
        del x[key]
    elif kind == 1 and isinstance(x, dict):
        x[r.choice(["status", "chart", "more", "rows", "x"])] = x[key]
    elif kind == 1:
        x.insert(key, x[key])
    else:
        x[key] = copy.deepcopy(r.choice(VALUES))  # it may be changed in turn


def vectors_changed(good, path, r):
    """A number by which the run goes on another one, or one more, or one less."""
    file = Taken.apart(good)
    resume = file.batches[-1][1]
    for _ in range(r.choice([1, 1, 3])):
        name = r.choice(list(resume) or ["x"])
        kind, text = resume.get(name, ("<f8", ""))
        data = bytearray(bytes.fromhex(text))
        change = r.randrange(8)
        if change == 0 and data:
            del data[:8]
        elif change == 1:
            data += bytes(8)
        elif data:
            code, sort = ("<d", float) if kind == "<f8" else ("<q", int)
            known = [x for x in NUMBERS if isinstance(x, sort) and not (sort is int and abs(x) >= 2**63)]
            struct.pack_into(code, data, 8 * r.randrange(len(data) // 8), r.choice(known))
        resume[name] = (kind, data.hex())
    file.write(path)


def columns_changed(good, path, r):
    """Numbers of the columns others; or rows in another order, twice, or of other names."""
    file = Taken.apart(good)
    columns = r.choice(file.batches)[0]
    kind = r.randrange(4)
    if not columns.size or kind == 0:
        file.batches.append(file.batches[0])
    elif kind == 1:
        columns[:] = columns[:, ::-1]
    else:
        columns[r.randrange(len(columns)), r.randrange(columns.shape[1])] = float(r.choice(NUMBERS[:11] + NUMBERS[14:]))
    names = _columns(file.facts)
    if r.random() < 0.2:
        r.shuffle(names)
    file.write(path, names, compression=r.choice([None, None, "zstd", "lz4"]))


CHANGES = [bytes_changed, sizes_changed, facts_changed, vectors_changed, columns_changed]


# --- the good ones ----------------------------------------------------------------------------------------------------


def models():
    """{name: (system, start, options)} of runs in short."""
    bar, five, cart = zoo.four_bar().compile(), zoo.five_bar().compile(), zoo.cart_pole().compile()
    x, y = bar.assemble({"A": 0.6}, v={"A": 12.0}), five.state(*zoo.five_bar_start())
    turn = {"turn": lambda t, s: np.sin(s["A"] / 2)}
    return {
        "saved": (bar, x, {"events": turn}),
        "events": (bar, x, {"events": turn}),
        "charts": (bar, x, {"coordinates": "partition", "rtol": 1e-6}),
        "tangent": (bar, x, {"coordinates": "tangent", "rtol": 1e-6}),
        "passage": (five, y, {"rtol": 1e-6}),
        "held": (cart, cart.state(), {"u": lambda t, s: [np.cos(t)], "period": 0.01}),
    }


def make(folder):
    """A good file of each model; recordings in several batches, cut off."""
    from dalembert.simulation.run import context

    context.RECORDED = 20
    for name, (system, x, options) in models().items():
        if name == "saved":
            da.simulate(system, x, 1.0, **options).save(folder / name)
        else:
            da.simulate(system, x, 1.0, record=folder / name, max_steps=60, **options)


def examine(name, path, model):
    """Read a file, and take it up if it is a recording. Returns whether it was read."""
    system, x, options = model
    try:
        run = da.read_run(path, system)
    except da.DalembertError:
        return False
    finally:
        if name != "saved":
            with contextlib.suppress(da.DalembertError):
                da.simulate(system, x, 1.0, record=path, resume=True, max_steps=80, **options)
    assert isinstance(run.message, str)
    assert run.q.shape == (len(run.t), system.nq)
    assert run.u.shape == (len(run.t), len(system.u_names))
    if len(run.t) and np.isfinite(run.q).all():
        run.energy, run.passages, run.charts, run.x_events, repr(run)
    return True


def bounded():
    """No more memory than any honest file needs."""
    pages = Path("/proc/self/statm")
    if pages.exists():
        import resource

        used = int(pages.read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + 2**31, resource.RLIM_INFINITY))


def main(folder, seed, count):
    """Returns the number of cases that raised something else than they may."""
    folder = Path(folder)
    make(folder)
    known, forged, failed, fine = models(), folder / "forged", 0, 0
    for name, model in known.items():
        forged.write_bytes((folder / name).read_bytes())
        assert examine(name, forged, model), name
    bounded()
    warnings.simplefilter("ignore")
    for case in range(count):
        r = random.Random(f"{seed} {case}")
        name, change = r.choice(list(known)), r.choice(CHANGES)
        (folder / "case").write_text(f"{seed} {case} {name} {change.__name__}")
        change(folder / name, forged, r)
        if hasattr(signal, "alarm"):
            signal.alarm(60)
        try:
            fine += examine(name, forged, known[name])
        except BaseException:
            failed += 1
            print(f"case {seed} {case}: {name}, {change.__name__}", flush=True)
            traceback.print_exc(limit=-6, file=sys.stdout)
    print(f"{count} files, {fine} of them read, {failed} wrong")
    return failed


if __name__ == "__main__":
    sys.exit(min(1, main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
