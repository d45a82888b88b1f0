#include "heads.h"

#include <algorithm>

#include "common/sizes.h"

namespace providers::cuda {
namespace {

// The structs of kernels/rotary.cu.
struct MoveArguments {
  int64_t from[3], to[3];
  int32_t heads, size, rotates, room, bias;
  float epsilon;
};
struct TurnArguments {
  MoveArguments moves[3];
  int32_t batch, rows, positions, half, interleaved;
  int32_t before, length_step, length_plus, from_end;
  int32_t position_step, position_shift;
};
static_assert(sizeof(MoveArguments) == 72 && sizeof(TurnArguments) == 3 * 72 + 48);

// The struct of kernels/attention_cache.cu.
struct CacheArguments {
  int64_t rows_of_heads;
  int32_t heads, past, rows, size;
  int32_t before, fresh, length_step, length_plus, from_end, keeps_rest;
};

MoveArguments move_of(const Emitter& e, const MovedHeads& m) {
  const auto number = [&](int64_t v) { return checked_int(e, v, "number of heads, their size or a cache's length"); };
  const HeadStrides &f = m.from.strides, &t = m.to.strides;
  return {{f.batch, f.head, f.row}, {t.batch, t.head, t.row}, number(m.heads), number(m.size), m.rotates,
          number(m.room),           number(m.bias),           float(m.epsilon)};
}

int32_t length_step(const Operand& lengths) { return lengths.buffer < 0 ? 0 : int32_t(size_of(lengths.type) / 4); }

}  // namespace

void turn_heads(Emitter& e, const Turn& turn) {
  const int64_t tasks = turn.batch * turn.rows * (turn.q.heads + turn.k.heads + turn.v.heads);
  if (tasks == 0) return;
  TurnArguments a{};
  a.moves[0] = move_of(e, turn.q);
  a.moves[1] = move_of(e, turn.k);
  a.moves[2] = move_of(e, turn.v);
  a.batch = checked_int(e, turn.batch, "batch");
  a.rows = checked_int(e, turn.rows, "number of rows");
  if (turn.cos.rank() > 0) {
    a.half = checked_int(e, turn.cos.dims.back(), "number of angles");
    a.positions = checked_int(e, a.half ? int64_t(turn.cos.count()) / a.half : 0, "number of positions");
  }
  a.interleaved = turn.interleaved;
  a.before = checked_int(e, turn.before, "number of past rows");
  a.length_step = length_step(turn.lengths);
  a.length_plus = checked_int(e, turn.length_plus, "length");
  a.from_end = turn.from_end;
  const bool one = turn.positions.buffer >= 0 && turn.positions.rank() < 2;
  a.position_step = !one;
  a.position_shift = one;
  const Kernel kernel =
      e.kernel("rotary.cu", "turn_heads",
               {{"ELEMENT", kernel_type(turn.q.heads ? turn.q.from.data.type : turn.k.from.data.type)}});
  Grid grid;
  grid.threads.x = 128;
  grid.blocks.x = unsigned(checked_int(e, ceil_div(tasks, 4), "number of heads"));
  e.launch(kernel, grid,
           {turn.q.from.data, turn.k.from.data, turn.v.from.data, turn.q.to.data, turn.k.to.data, turn.v.to.data,
            turn.bias, turn.q_norm, turn.k_norm, turn.cos, turn.sin, turn.positions, turn.lengths, Argument::of(a)});
}

void keep_past(Emitter& e, const KeptCache& c) {
  const int64_t row = c.size * int64_t(size_of(c.present.type)), count = c.batch * c.heads * c.rows;
  if (count == 0 || row == 0) return;
  const int64_t word = row % 16 == 0 ? 16 : row % 4 == 0 ? 4 : row % 2 == 0 ? 2 : 1;
  const Kernel kernel = e.kernel("attention_cache.cu", "keep_past",
                                 {{"WORD", word == 16  ? "Wide"
                                           : word == 4 ? "u32"
                                           : word == 2 ? "u16"
                                                       : "u8"}});
  CacheArguments a{};
  a.rows_of_heads = count;
  a.heads = checked_int(e, c.heads, "number of heads");
  a.past = checked_int(e, c.past_rows, "number of past rows");
  a.rows = checked_int(e, c.rows, "number of a cache's rows");
  a.size = checked_int(e, row / word, "size of a head");
  a.before = checked_int(e, c.before, "number of past rows");
  a.fresh = checked_int(e, c.fresh, "number of rows");
  a.length_step = length_step(c.lengths);
  a.length_plus = checked_int(e, c.length_plus, "length");
  a.from_end = c.from_end;
  a.keeps_rest = c.keeps_rest;
  const auto blocks = unsigned(std::min<int64_t>(ceil_div(count * a.size, 256), 1 << 16));
  const Operand past = c.past, present = c.present, lengths = c.lengths;
  // The addresses of a run decide whether there is anything to copy.
  e.call({past, present, lengths}, [=](const Run& run) {
    Address from = run(past), to = run(present), ends = run(lengths);
    if (from == to) return;
    CacheArguments arguments = a;
    void* parameters[] = {&from, &to, &ends, &arguments};
    submit(kernel, {{blocks}, {256}}, parameters, run.stream);
  });
}

}  // namespace providers::cuda
