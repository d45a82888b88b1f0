// LSTM: its cell is in common/lstm_cell.h.
#include "ops/recurrent/common/lstm_cell.h"

namespace retort::ops {
namespace {

struct Lstm : LstmCell<Lstm> {};

}  // namespace

extern const OpDef op_lstm;
constinit const OpDef op_lstm = define<Lstm>({
    .name = "LSTM",
    .since = {1, 7, 14, 22},
    .inputs = {"X: T", "W: T", "R: T", "B: T?", "sequence_lens: int32?", "initial_h: T?", "initial_c: T?", "P: T?"},
    .outputs = {"Y: T?", "Y_h: T?", "Y_c: T?"},
    .types = kFloats,
});

}  // namespace retort::ops
