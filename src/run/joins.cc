#include "run/joins.h"

#include <algorithm>
#include <utility>

namespace retort {
namespace {

/// Rows that are spread over more bytes than this leave the caches before they are read again, because their stride
/// uses few cache sets. A copy then costs less than writing and reading such rows.
constexpr size_t kFarRows = size_t(6) << 20;
/// Limits the depth of hosts, since the functions that walk along them are recursive.
constexpr uint32_t kDeepest = 64;
/// Concats with more inputs than this are not searched for adopted values.
constexpr size_t kMostAdopted = 16;

bool joins(const Step& s) { return s.op->piece && s.op->has(kJoins) && !s.late; }
bool cuts(const Step& s) { return s.op->piece && !s.op->has(kJoins) && !s.late; }

std::optional<Piece> piece_of(const Step& s, const RunContext& c, size_t i) {
  return s.op->piece(s.params.get(), c, i);
}

/// Whether each element of a value has an address.
bool has_whole_bytes(const Slot& s) { return s.count > 0 && s.dtype() != DType::string && !is_packed(s.dtype()); }

/// Translates a piece of a dense tensor to a tensor whose rows have gaps; nullopt if the rows of the part would have no
/// common stride.
std::optional<Piece> in_rows(const Slot& whole, const Slot& part, const Piece& piece) {
  if (whole.row_stride == 0) return piece;
  const size_t width = whole.row_extent(), row = part.row_extent();
  const size_t step = part.count == row ? 0 : piece.row_stride ? piece.row_stride : row;
  if (piece.offset % width + row > width || step % width != 0) return std::nullopt;
  return Piece{piece.offset / width * whole.row_stride + piece.offset % width, step / width * whole.row_stride};
}

}  // namespace

Joins::Joins(SlotTable& table)
    : plan_(table.plan()), table_(table), guests_(plan_.values.size()), in_place_(plan_.steps.size()) {}

SlotIndex Joins::owner(SlotIndex root) const {
  while (guests_[root].host != kNoSlot) root = guests_[root].host;
  return root;
}

uint32_t Joins::last_use_of_guests(SlotIndex root) const {
  uint32_t last = 0;
  for_guests(root, [&](SlotIndex g, size_t) { last = std::max(last, last_use(g)); });
  return last;
}

uint32_t Joins::last_use(SlotIndex root) const {
  return std::max(plan_.values[root].last_use, last_use_of_guests(root));
}

void Joins::put(SlotIndex root, void* data) {
  for (const SlotIndex v : table_.sharers_of(root)) table_[v].data = data;
  for_guests(root, [&](SlotIndex guest, size_t offset) {
    put(guest, data ? static_cast<std::byte*>(data) + offset : nullptr);
  });
}

void Joins::link(SlotIndex root, SlotIndex host) {
  guests_[root].host = host;
  guests_[root].next = std::exchange(guests_[host].first, root);
}

// Keeps guests that steps before `begin` made: their hosts were also made before or were given.
void Joins::forget(uint32_t begin) {
  std::fill(in_place_.begin() + begin, in_place_.end(), false);
  for (Guest& g : guests_) g.first = g.next = kNoSlot;
  for (SlotIndex v = 0; v < guests_.size(); ++v) {
    const SlotIndex host = std::exchange(guests_[v].host, kNoSlot);
    if (host == kNoSlot) continue;
    if (table_.producer_of(v) < begin) {
      link(v, host);
    } else {
      guests_[v].depth = 0;
      for (const SlotIndex m : table_.sharers_of(v)) table_[m].row_stride = 0;
    }
  }
}

// Places hosts before their guests. Joined values are placed from the last step to the first, because only later steps
// can join the output of a step; cut values are placed from the first step to the last.
void Joins::find(const Steps& steps) {
  forget(steps.begin);
  for (uint32_t i = steps.end; i-- > steps.begin;) {
    if (steps.runs[i] && joins(plan_.steps[i])) join_inputs(steps, i);
  }
  for (uint32_t i = steps.begin; i < steps.end; ++i) {
    if (steps.runs[i] && cuts(plan_.steps[i])) cut_input(steps, i);
  }
}

// Whether the readers of a value may choose its address: a step of this segment makes it, nothing else determines its
// address, and it exists for all images at once.
bool Joins::may_move(const Steps& steps, SlotIndex root) const {
  const uint32_t made = table_.producer_of(root);
  return plan_.values[root].home == Home::arena && made != kNever && made >= steps.begin && made < steps.end &&
         steps.runs[made] && !is_guest(root) && steps.images_of[root] == 0 && has_whole_bytes(table_[root]);
}

// Whether every step that writes or reads a value supports rows with gaps. `is_cut`: no step writes it.
bool Joins::may_have_rows(const Steps& steps, SlotIndex root, bool is_cut) const {
  const uint32_t made = table_.producer_of(root), last = plan_.values[root].last_use;
  const Step& writer = plan_.steps[made];
  const bool written = is_cut || (writer.kernel.fn && writer.op->writes_rows && writer.outputs[0] == root &&
                                  writer.op->writes_rows(writer.params.get(), steps.context(made)));
  const auto same_rows = [&](SlotIndex m) { return table_[m].row_extent() == table_[root].row_extent(); };
  if (!written || last >= steps.end || !std::ranges::all_of(table_.sharers_of(root), same_rows)) return false;
  for (uint32_t i = made + 1; i <= last; ++i) {
    const Step& s = plan_.steps[i];
    for (size_t k = 0; k < s.inputs.size() && !s.view; ++k) {
      if (s.inputs[k] == kNoSlot || table_.root_of(s.inputs[k]) != root) continue;
      const bool read = s.kernel.fn && s.op->reads_rows && s.op->reads_rows(s.params.get(), steps.context(i), k);
      if (!read) return false;
    }
  }
  return true;
}

bool Joins::make_guest(const Steps& steps, SlotIndex part, SlotIndex whole, const Piece& piece, bool is_cut) {
  const SlotIndex root = table_.root_of(part), host = table_.root_of(whole);
  const auto at = may_move(steps, root) ? in_rows(table_[whole], table_[part], piece) : std::nullopt;
  if (!at || guests_[host].depth == kDeepest) return false;
  const size_t stride = table_[part].count == table_[part].row_extent() ? 0 : at->row_stride;
  const size_t element = dtype_bits(table_[part].dtype()) / 8;
  const bool far = table_[part].count / table_[part].row_extent() * stride * element > kFarRows;
  if (stride && (far || !may_have_rows(steps, root, is_cut))) return false;
  link(root, host);
  guests_[root].offset = at->offset * element;
  guests_[root].depth = guests_[host].depth + 1;
  auto* const data = static_cast<std::byte*>(table_[host].data);
  for (const SlotIndex m : table_.sharers_of(root)) {
    table_[m].row_stride = stride;
    table_[m].data = data ? data + guests_[root].offset : nullptr;
  }
  return true;
}

// The value that a Split takes `root` from; kNoSlot if there is none.
SlotIndex Joins::cut_from(SlotIndex root) const {
  const uint32_t made = table_.producer_of(root);
  return made != kNever && cuts(plan_.steps[made]) ? plan_.steps[made].inputs[0] : kNoSlot;
}

// The place in the output of the value that a Split takes this input from, if the input is to lie where it is joined.
std::optional<Piece> Joins::as_a_whole(const Steps& steps, uint32_t step, size_t input) const {
  const SlotIndex part = plan_.steps[step].inputs[input], root = table_.root_of(part), whole = cut_from(root);
  if (whole == kNoSlot || table_[part].count == 0 || table_[part].row_extent() != table_[root].row_extent()) return {};
  const Step& cut = plan_.steps[table_.producer_of(root)];
  const auto output = size_t(std::ranges::find(cut.outputs, root) - cut.outputs.begin());
  const auto from = piece_of(cut, steps.context(table_.producer_of(root)), output);
  const auto to = piece_of(plan_.steps[step], steps.context(step), input);
  if (!from || !to || to->offset < from->offset) return {};
  const bool fits = from->row_stride == 0 ? to->row_stride == 0
                                          : to->row_stride != 0 && from->row_stride == table_[whole].row_extent();
  return fits ? std::optional(Piece{to->offset - from->offset, to->row_stride}) : std::nullopt;
}

// For a, b = Split(y); Concat(a, b, c): y as a whole lies in the output if all of it is joined in its original order.
bool Joins::adopt(const Steps& steps, uint32_t step, size_t input) {
  const Step& s = plan_.steps[step];
  const SlotIndex whole = cut_from(table_.root_of(s.inputs[input])), out = s.outputs[0];
  const auto at = s.inputs.size() <= kMostAdopted ? as_a_whole(steps, step, input) : std::nullopt;
  if (!at) return false;
  if (guests_[table_.root_of(whole)].host == out) {
    const auto there = in_rows(table_[out], table_[whole], *at);
    const size_t bytes = dtype_bits(table_[out].dtype()) / 8;
    return there && guests_[table_.root_of(whole)].offset == there->offset * bytes;
  }
  size_t joined = 0;
  for (size_t i = 0; i < s.inputs.size(); ++i) {
    const bool same = cut_from(table_.root_of(s.inputs[i])) == whole && as_a_whole(steps, step, i) == at;
    joined += same ? table_[s.inputs[i]].count : 0;
  }
  return joined == table_[whole].count && make_guest(steps, whole, out, *at, false);
}

void Joins::join_inputs(const Steps& steps, uint32_t step) {
  const Step& s = plan_.steps[step];
  const SlotIndex out = s.outputs[0];
  const Home home = plan_.values[out].home;
  if ((home != Home::arena && home != Home::output) || !has_whole_bytes(table_[out])) return;
  const RunContext context = steps.context(step);
  bool done = true;
  for (size_t i = 0; i < s.inputs.size(); ++i) {
    if (table_[s.inputs[i]].count == 0) continue;
    const auto piece = piece_of(s, context, i);
    // It is not known yet whether the parts of an adopted value will be views of it; the kernel checks.
    const bool made = piece && !adopt(steps, step, i) && make_guest(steps, s.inputs[i], out, *piece, false);
    done = done && made;
  }
  in_place_[step] = done;
}

void Joins::cut_input(const Steps& steps, uint32_t step) {
  const Step& s = plan_.steps[step];
  const SlotIndex whole = s.inputs[0];
  const Home home = plan_.values[whole].home;
  const bool lasts = home == Home::arena || home == Home::input || home == Home::output;
  if (!lasts || steps.images_of[table_.root_of(whole)] > 0 || !has_whole_bytes(table_[whole])) return;
  const RunContext context = steps.context(step);
  bool done = true;
  for (size_t i = 0; i < s.outputs.size(); ++i) {
    if (s.outputs[i] == kNoSlot) continue;
    const auto piece = piece_of(s, context, i);
    done = piece && make_guest(steps, s.outputs[i], whole, *piece, true) && done;
  }
  in_place_[step] = done;
}

}  // namespace retort
