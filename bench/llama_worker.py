"""llama.cpp with one model in a process of its own, driven by llama_race.py.

    llama_worker.py MODEL.gguf THREADS CAPACITY

Reads the lines that `decode_table --serve` reads, `decode POSITION COUNT` and `prefill COUNT`, and answers as it does.
"""
import ctypes
import json
import sys
import time

import llama_cpp


def made(pointer, what):
    if not pointer:
        raise SystemExit(f"llama.cpp gives no {what}")
    return pointer


class Session:
    def __init__(self, path, threads, capacity):
        llama_cpp.llama_backend_init()
        self.log = llama_cpp.llama_log_callback(lambda level, text, user: None)
        llama_cpp.llama_log_set(self.log, ctypes.c_void_p(0))
        model = llama_cpp.llama_model_default_params()
        model.n_gpu_layers = 0
        self.model = made(llama_cpp.llama_model_load_from_file(path.encode(), model), "model")
        context = llama_cpp.llama_context_default_params()
        context.n_ctx = context.n_batch = context.n_ubatch = capacity
        context.n_threads = context.n_threads_batch = threads
        self.context = made(llama_cpp.llama_init_from_model(self.model, context), "context")
        self.memory = llama_cpp.llama_get_memory(self.context)

    def run(self, first, count):
        """Tokens at positions from `first` on, as one batch, of which the last has logits."""
        llama_cpp.llama_memory_seq_rm(self.memory, 0, first, -1)
        batch = llama_cpp.llama_batch_init(count, 0, 1)
        batch.n_tokens = count
        for i in range(count):
            batch.token[i], batch.pos[i] = (first + i) * 37 % 1000, first + i
            batch.n_seq_id[i], batch.seq_id[i][0], batch.logits[i] = 1, 0, i == count - 1
        wall, cpu = time.perf_counter(), time.process_time()
        code = llama_cpp.llama_decode(self.context, batch)
        logit = llama_cpp.llama_get_logits_ith(self.context, -1)[0]
        seconds = time.perf_counter() - wall, time.process_time() - cpu
        llama_cpp.llama_batch_free(batch)
        if code or logit != logit:
            raise SystemExit(f"llama_decode() gives {code}, a logit {logit}")
        return seconds


def answer(all_seconds):
    print(json.dumps({"wall": [wall for wall, _ in all_seconds], "cpu": [cpu for _, cpu in all_seconds]}), flush=True)


def main():
    path, threads, capacity = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    start = time.perf_counter()
    session = Session(path, threads, capacity)
    answer([(time.perf_counter() - start, 0)])
    for line in sys.stdin:
        what, *numbers = line.split()
        if what == "decode":
            first, count = map(int, numbers)
            answer([session.run(first + i, 1) for i in range(count)])
        elif what == "prefill":
            answer([session.run(0, int(numbers[0]))])
        else:
            raise SystemExit(f"`{line.strip()}` is neither `decode` nor `prefill`")


if __name__ == "__main__":
    main()
