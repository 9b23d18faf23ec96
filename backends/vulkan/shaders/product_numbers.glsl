// The numbers of a portable::Product, in the order of products.cc.
#define FIRST_A NUMBER(0)
#define FIRST_B NUMBER(1)
#define FIRST_C NUMBER(2)
#define N_ROWS NUMBER(3)
#define N_COLUMNS NUMBER(4)
#define CHANNELS NUMBER(5)
#define ROW_A NUMBER(6)
#define CHANNEL_A NUMBER(7)
#define CHANNEL_B NUMBER(8)
#define ROW_C NUMBER(9)
#define INNER_BATCH NUMBER(10)
#define BATCH(i, what) NUMBER(11 + 4 * (i) + (what))  // a, b, c, start
#define ALPHA REAL(19)
#define BETA REAL(20)
#define START_ROW NUMBER(21)
#define START_COLUMN NUMBER(22)
#define START_SCALE REAL(23)
#define A_SCALE REAL(24)
#define BIAS_BATCH(i) NUMBER(25 + (i))
#define AXIS(i, what) NUMBER(27 + 9 * (i) + (what))  // count size step origin taps tap_step tap_a b c
// Of tile.comp and depthwise.comp alone:
#define BIAS_KIND NUMBER(54)   // 0 none, 1 one a row, 2 one a column
#define START_KIND NUMBER(55)  // 0 none, 1 it lies like C, 2 with strides of its own
#define LIMIT NUMBER(56)       // elements of a line that the channels run along; 0 where they end with a tap
#define ROWS_FIRST NUMBER(57)  // whether the next group computes the next rows, not the next columns

// a / b, for a >= 0 and b > 0. Processors divide the whole numbers of a vector one after the other, which is much to
// compile, too. The first quotient is off by 2^-21 of itself at most, so that the second, of what is left, is off by
// one.
int quotient(int a, int b) {
  const float inverse = 1.0 / float(b);
  int q = int(float(a) * inverse);
  q += int(float(a - q * b) * inverse);
  const int rest = a - q * b;
  return rest < 0 ? q - 1 : rest >= b ? q + 1 : q;
}

// Columns as positions of a grid of three axes, and the sum of a stride along each.
ivec3 position_of(int column, ivec3 counts) {
  const int line = quotient(column, counts.z);
  const int plane = quotient(line, counts.y);
  return ivec3(plane, line - plane * counts.y, column - line * counts.z);
}
int along(ivec3 position, ivec3 strides) {
  return position.x * strides.x + position.y * strides.y + position.z * strides.z;
}
#define AXES(what) ivec3(AXIS(0, what), AXIS(1, what), AXIS(2, what))
