#!/usr/bin/env python3
"""load.py URL TABLE ROWS_PER_REQUEST REQUESTS CONNECTIONS: rows a second and latencies, keep-alive, from processes."""
import http.client, json, sys, time, multiprocessing as mp, urllib.parse, csv, gzip
def work(args):
    host, port, path, body, n, warm = args
    c = http.client.HTTPConnection(host, port)
    took = []
    for i in range(n):
        t = time.perf_counter()
        c.request("POST", path, body, {"Content-Type": "application/json"})
        r = c.getresponse(); b = r.read()
        assert r.status == 200, b[:300]
        took.append(time.perf_counter() - t)
    return took
if __name__ == "__main__":
    url, table, size, requests, connections = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
    u = urllib.parse.urlparse(url)
    rows = list(csv.reader(gzip.open(table, "rt")))
    head, rows = rows[0], rows[1:]
    rows = (rows * (size // len(rows) + 1))[:size]
    cast = lambda r: [r[0]] + [float(v) if v else None for v in r[1:]]
    body = json.dumps({"dataframe_split": {"columns": head, "data": [cast(r) for r in rows]}, "params": {"interval": 0.9}})
    with mp.Pool(connections) as pool:
        pool.map(work, [(u.hostname, u.port, u.path, body, 1, 0)] * connections)
        t = time.perf_counter()
        took = sorted(sum(pool.map(work, [(u.hostname, u.port, u.path, body, requests // connections, 0)] * connections, chunksize=1), []))
        t = time.perf_counter() - t
    n = len(took)
    print(f"{n * size / t:9.0f} rows/s {n / t:8.1f} requests/s  p50 {took[n // 2] * 1e3:7.2f} ms  p99 {took[int(n * .99)] * 1e3:7.2f} ms")
