/* Berth from C: compiles a model that reads handwritten digits, says what memory the program needs, and runs it on a
 * picture, in memory of its own.
 *
 *     digits MODEL.onnx PICTURE.npy
 *
 * The picture is 8 by 8 floats behind the head of a NumPy file. C11 without extensions; also C++. */
#include <berth/berth.h>
#include <stdio.h>
#include <stdlib.h>

static berth_error error;

static int failed(void) {
  fprintf(stderr, "%s: %s: %s\n", berth_code_name(error.code), error.place, error.message);
  return 1;
}

static int read_picture(const char* path, float* pixels, size_t count) {
  FILE* file = fopen(path, "rb");
  const int found = file != NULL && fseek(file, -(long)(count * sizeof *pixels), SEEK_END) == 0 &&
                    fread(pixels, sizeof *pixels, count, file) == count;
  if (file != NULL) fclose(file);
  if (!found) fprintf(stderr, "%s is not a picture\n", path);
  return found ? 0 : 1;
}

/* Compiles the model for this machine's CPU; the program stays in memory. */
static int compile(const char* path, berth_blob** program) {
  const berth_option options[] = {{"target", "cpu"}};
  const berth_compile_options how = {sizeof how, NULL, options, 1, NULL};
  const berth_source model = {sizeof model, path};
  return berth_compile(&model, 1, &how, program, NULL, &error);
}

/* A block of bytes at a multiple of 64, which is what Berth asks for. */
static berth_block make_block(uint64_t bytes) {
  berth_block block;
  block.size = ((size_t)bytes + 63) / 64 * 64;
  block.data = aligned_alloc(64, block.size == 0 ? 64 : block.size);
  return block;
}

/* Loads "forward" into memory of ours: every byte is known before any is taken. */
static int load(berth_program* program, berth_block blocks[3], berth_method** method) {
  const berth_block nothing = {NULL, 0};
  berth_memory_needed needed = {sizeof needed};
  berth_arena arena = {sizeof arena};
  berth_memory memory = {sizeof memory};
  berth_method_options options = {sizeof options};
  if (berth_program_memory(program, "forward", NULL, nothing, &needed, &error) != BERTH_OK) return failed();
  if (berth_program_arena(program, "forward", 0, &arena, &error) != BERTH_OK) return failed();
  printf("arena %llu bytes, method %llu, kernels %llu\n", (unsigned long long)arena.bytes,
         (unsigned long long)needed.method_bytes, (unsigned long long)needed.temp_bytes);
  blocks[0] = make_block(needed.method_bytes);
  blocks[1] = make_block(needed.temp_bytes);
  blocks[2] = make_block(arena.bytes);
  memory.method = blocks[0];
  memory.temp = blocks[1];
  memory.arenas = &blocks[2];
  memory.num_arenas = 1;
  options.memory = &memory;
  return berth_method_load(program, "forward", &options, method, &error) == BERTH_OK ? 0 : failed();
}

static int run(berth_method* method, float* pixels, size_t bytes) {
  const int32_t sizes[] = {1, 1, 8, 8};
  const berth_array x = {sizeof x, pixels, bytes, BERTH_F32, 4, sizes};
  berth_array y = {sizeof y};
  int digit, best = 0;
  if (berth_method_bind_input(method, 0, &x, &error) != BERTH_OK) return failed();
  if (berth_method_run(method, &error) != BERTH_OK) return failed(); /* as often as one likes */
  if (berth_method_output(method, 0, &y, &error) != BERTH_OK) return failed();
  for (digit = 1; digit < 10; ++digit) {
    if (((const float*)y.data)[digit] > ((const float*)y.data)[best]) best = digit;
  }
  printf("most likely a %d\n", best);
  return 0;
}

int main(int argc, char** argv) {
  float pixels[64];
  berth_block blocks[3] = {{NULL, 0}, {NULL, 0}, {NULL, 0}};
  berth_blob* bytes = NULL;
  berth_program* program = NULL;
  berth_method* method = NULL;
  berth_source source = {sizeof source};
  int status = 1;
  error.size = sizeof error;
  if (argc != 3) {
    fprintf(stderr, "usage: digits MODEL.onnx PICTURE.npy\n");
    return 2;
  }
  if (read_picture(argv[2], pixels, 64) != 0) return 1;
  if (compile(argv[1], &bytes) != BERTH_OK) return failed();
  source.bytes = berth_blob_bytes(bytes);
  if (berth_program_open(&source, NULL, &program, &error) != BERTH_OK) {
    failed();
  } else if (load(program, blocks, &method) == 0) {
    status = run(method, pixels, sizeof pixels);
  }
  berth_method_close(method, NULL); /* what uses another is closed before it */
  berth_program_close(program, NULL);
  berth_blob_close(bytes, NULL);
  free(blocks[0].data);
  free(blocks[1].data);
  free(blocks[2].data);
  return status;
}
