#!/usr/bin/env python3
"""What a user would write without l2mt serve: a server around the same weights, in NumPy and pandas.

    python3 serve_peer.py MODEL PORT flask|fastapi
"""
import json, struct, sys
import numpy as np, pandas as pd

def load(folder):
    model = json.load(open(folder + "/model.json"))
    raw = open(folder + "/weights.safetensors", "rb").read()
    size = struct.unpack("<Q", raw[:8])[0]
    head = json.loads(raw[8:8 + size])
    head.pop("__metadata__", None)
    w = {k: np.frombuffer(raw[8 + size:][slice(*t["data_offsets"])]).reshape(t["shape"]) for k, t in head.items()}
    return model, w

class Model:
    def __init__(self, folder):
        self.model, self.w = load(folder)
        m = self.model
        self.columns = [c["name"] for c in m["recipe"]["columns"]]
        self.offset = np.array([(c.get("offset") or [0])[0] for c in m["recipe"]["columns"]])
        self.mean = np.array([c["mean"][0] for c in m["recipe"]["columns"]])
        self.tasks = {t["name"]: i for i, t in enumerate(m["tasks"])}
        self.spread = np.array([t["spread"] for t in m["tasks"]])
        d = m["doubt"]["tasks"]
        self.left = np.array([t["left"] for t in d]); self.loading = np.array([t["loading"] for t in d]); self.scale = np.array([t["scale"] for t in d])

    def curves(self, X, step):
        made = []
        for x, c in zip(X.T, step["curves"]):
            made.append(x)
            if not c.get("bends"): continue
            b = np.array(c["bends"]); k = np.array(c["knots"])
            near = x.clip(k[0], k[-1])
            d = near[:, None] - k
            a = np.abs(d)
            f = a ** 3 @ b[:, :-2].T + np.outer(near, b[:, -2]) + b[:, -1]
            f += (3 * d * a @ b[:, :-2].T + b[:, -2]) * (x - near)[:, None]
            made.extend(f.T)
        return np.stack(made, 1)

    def predict(self, frame, interval=0.0):
        X = frame[self.columns].to_numpy(float)
        X = np.where(np.isnan(X), self.mean, X) - self.offset
        for step in self.model["recipe"]["steps"]:
            if step["kind"] == "standardise":
                d = np.array(step["deviation"])
                X = (X - step["mean"]) / np.where(d > 0, d, np.inf)
            else:
                X = np.hstack([self.curves(X, p) if p["kind"] == "curves" else np.exp(-p["width"] * np.abs(X[:, None] - np.array(p["landmarks"])).sum(2)) for p in step["parts"]])
        names = frame[self.model["recipe"]["task"]].astype(str)
        t = names.map(self.tasks).to_numpy()
        y = (X * self.w["W"].T[t]).sum(1) + self.w["b"][t]
        one = np.hstack([np.ones((len(X), 1)), X])
        v = ((one @ self.w["doubt own"].T) ** 2).sum(1) + self.loading[t] ** 2 * ((one @ self.w["doubt common"].T) ** 2).sum(1)
        v = self.scale[t] ** 2 * (self.model["doubt"]["noise"] + self.left[t] * v)
        out = {"task": names, "prediction": y, "standard_error": self.spread[t] * np.sqrt(v)}
        if interval:
            r = self.model["residuals"]; k = int(np.ceil(interval * (len(r) + 1)))
            out["low"] = y - r[k - 1] * out["standard_error"]; out["high"] = y + r[k - 1] * out["standard_error"]
        return pd.DataFrame(out).to_dict(orient="records")

def frame_of(q):
    if "dataframe_split" in q:
        return pd.DataFrame(q["dataframe_split"]["data"], columns=q["dataframe_split"]["columns"])
    return pd.DataFrame(q["dataframe_records"])

if __name__ == "__main__":
    import os
    model = Model(sys.argv[1])
    if sys.argv[3] == "flask":
        import flask, logging
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        app = flask.Flask("peer")
        @app.post("/invocations")
        def invocations():
            q = flask.request.get_json()
            text = json.dumps({"predictions": model.predict(frame_of(q), q.get("params", {}).get("interval", 0))})
            return app.response_class(text, mimetype="application/json")
        try:
            import waitress
            waitress.serve(app, port=int(sys.argv[2]), threads=4, _quiet=True)
        except ImportError:
            from werkzeug.serving import WSGIRequestHandler
            WSGIRequestHandler.protocol_version = "HTTP/1.1"
            app.run(port=int(sys.argv[2]), threaded=True)
    else:
        import fastapi, uvicorn
        from fastapi import Request, Response
        app = fastapi.FastAPI()
        @app.post("/invocations")
        async def invocations(request: Request):
            q = json.loads(await request.body())
            return Response(json.dumps({"predictions": model.predict(frame_of(q), q.get("params", {}).get("interval", 0))}), media_type="application/json")
        uvicorn.run(app, port=int(sys.argv[2]), log_level="error")
