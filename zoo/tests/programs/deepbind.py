# Every extension opened with RTLD_DEEPBIND: arrays, linear algebra, SQLite, XML, compression, and C functions by ctypes.
import os
import sys

sys.setdlopenflags(os.RTLD_NOW | os.RTLD_DEEPBIND)
import bz2, ctypes, decimal, hashlib, json, lzma, sqlite3, zlib
import xml.etree.ElementTree as tree
import numpy

grid = numpy.arange(250_000, dtype=numpy.float64).reshape(500, 500)
print((grid @ grid.T).trace(), numpy.sort(grid[::7, ::3] % 17, axis=None)[:5].tolist())
print(numpy.linalg.matrix_rank(numpy.eye(40) * 3), [str(a.dtype) for a in (grid.astype("f4"), grid > 3)])
base = sqlite3.connect(":memory:")
base.execute("create table t (a, b)")
base.executemany("insert into t values (?, ?)", [(i, str(i) * 9) for i in range(5000)])
print(base.execute("select count(*), max(b) from t").fetchone())
data = json.dumps([{"n": i, "text": "x" * (i % 50)} for i in range(3000)]).encode()
for method in (zlib, bz2, lzma):
    assert method.decompress(method.compress(data)) == data
print(hashlib.sha256(data).hexdigest(), decimal.Decimal(2).sqrt())
root = tree.Element("list")
for i in range(2000):
    tree.SubElement(root, "item", n=str(i)).text = "value"
print(len(tree.fromstring(tree.tostring(root))))
c = ctypes.CDLL("libc.so.6")
c.strdup.restype, c.strdup.argtypes, c.free.argtypes = ctypes.c_void_p, [ctypes.c_char_p], [ctypes.c_void_p]
for i in range(1000):
    c.free(c.strdup(b"x" * i))
print("done")
