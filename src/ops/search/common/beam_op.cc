#include "ops/search/common/beam_op.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/search/common/decoder_only.h"
#include "ops/search/common/encoder_decoder.h"

namespace retort::ops {
namespace {

constexpr int64_t kMostTokens = 4096, kMostBeams = 128;
constexpr int64_t kTimestampProcessor = 1;

}  // namespace

void BeamAttributes::infer(InferContext& c, SearchModel model) const {
  c.set(kSequences, DType::i32);
  for (const size_t i : {kSequenceScores, kScores}) c.set(i, DType::f32);
  if (!c.node()) return;
  check_subgraphs(*c.node(), model, start, vocabulary);
  const DType type = c.dtype(kContent);
  const bool fits = model == SearchModel::sound ? type == DType::f32 || type == DType::f16 : type == DType::i32;
  require(fits || type == DType::undefined, ErrorCode::invalid_graph, "input 0 is of type {}, expected {}",
          dtype_name(type), model == SearchModel::sound ? "float32 or float16" : "int32");
  for (const size_t i : {kLengthPenalty, kRepetition}) {
    if (has_input(c, i) && c.dtype(i) != DType::f32)
      fail(ErrorCode::not_implemented, "input {} is of type {}, but penalties are float32; cast it", i,
           dtype_name(c.dtype(i)));
  }
  const Dim batch = batch_of(c, model == SearchModel::sound ? 3 : 2), returned = extent_of(c, kReturned);
  c.set(kSequences, DType::i32, {batch, returned, extent_of(c, kLongest)});
  c.set(kSequenceScores, DType::f32, {batch, returned});
  c.set(kScores, DType::f32, {c.unknown_extent(), batch, extent_of(c, kBeams), c.unknown_extent()});
}

BeamRun::BeamRun(const RunContext& c, const BeamAttributes& a, SearchModel model, const BeamExtras& extras)
    : c_(c), a_(a), model_(model), extras_(extras), in_(c), space_{named_bodies(c), c.parallel()} {
  read_extents();
}

void BeamRun::read_extents() {
  const auto within = [](std::string_view name, int64_t value, int64_t least, int64_t most) {
    require(value >= least && value <= most, ErrorCode::invalid_argument, "{} is {}, expected {} to {}", name, value,
            least, most);
  };
  const Shape& content = in_.shape(In::kContent);
  require(content.rank() == (model_ == SearchModel::sound ? 3u : 2u), ErrorCode::invalid_argument,
          "input 0 has shape {}, expected {}", content,
          model_ == SearchModel::sound ? "[batch, features, length]" : "[batch, length]");
  space_.batch = size_t(content[0]);
  if (model_ == SearchModel::decoder_only) given_ = content[1];
  if (model_ == SearchModel::sound && in_.has(In::kFirstTokens)) {
    const Shape& first = in_.shape(In::kFirstTokens);
    require(first.rank() == 2 && first[0] == content[0], ErrorCode::invalid_argument,
            "decoder_input_ids has shape {}, expected [{}, any]", first, content[0]);
    given_ = first[1];
  }
  require(given_ > 0, ErrorCode::invalid_argument, "there are no tokens to begin with; give at least one per sequence");
  space_.longest = in_.number(In::kLongest, "max_length", kMostTokens);
  within("max_length", space_.longest, given_ + 1, kMostTokens);
  const int64_t beams = in_.number(In::kBeams, "num_beams", 1);
  within("num_beams", beams, 1, kMostBeams);
  returned_ = in_.number(In::kReturned, "num_return_sequences", 1);
  within("num_return_sequences", returned_, 1, beams);
  space_.beams = size_t(beams);
  space_.pad = a_.pad;
  space_.start = a_.start;
}

Sequences BeamRun::begin() const {
  const auto given = model_ == SearchModel::decoder_only ? in_.tokens(In::kContent)
                     : start_.empty()                    ? in_.tokens(In::kFirstTokens)
                                                         : std::span<const int32_t>(start_);
  return Sequences(space_.rows(), space_.beams, given, size_t(given_));
}

std::unique_ptr<TokenModel> BeamRun::make_model(const Sequences& sequences) {
  const auto batch = int64_t(space_.batch);
  const int32_t* mask = in_.optional(In::kAttentionMask, "attention_mask", in_.shape(In::kContent));
  if (model_ == SearchModel::decoder_only)
    return std::make_unique<DecoderOnly>(
        space_, DecoderOnly::Prompt{.tokens = in_.tokens(In::kContent), .mask = mask, .length = given_});
  EncoderDecoder::Source source{.kind = model_, .content = in_.view(In::kContent), .mask = {}, .start = {}};
  if (mask) source.mask = in_.view(In::kAttentionMask);
  Tensor start(DType::i32, {batch, given_});
  for (size_t i = 0; i < space_.batch; ++i) {
    const auto row = sequences.row(i * space_.beams);
    std::copy(row.begin(), row.end(), start.mutable_data<int32_t>() + i * row.size());
  }
  source.start = std::move(start);
  if (extras_.cross_attention) {
    cross_attention_.emplace(chosen_heads(), size_t(given_));
    source.cross_attention = &*cross_attention_;
  }
  return std::make_unique<EncoderDecoder>(space_, std::move(source));
}

std::optional<TimestampRule> BeamRun::timestamps(size_t vocabulary) const {
  const int64_t processor = in_.number(In::kProcessor, "logits_processor", 0);
  require(processor >= 0, ErrorCode::invalid_argument, "logits_processor is {}, expected 0 or more", processor);
  if (model_ != SearchModel::sound || processor != kTimestampProcessor) return std::nullopt;
  const int64_t first = extras_.timestamps.first;
  require(a_.end >= 0 && a_.end < int64_t(vocabulary), ErrorCode::invalid_argument,
          "eos_token_id is {}, but logits_processor 1 needs one in [0, {})", a_.end, vocabulary);
  require(first > 0 && first < int64_t(vocabulary), ErrorCode::invalid_argument,
          "beginning_timestamp_token_id is {}, but logits_processor 1 needs one in [1, {})", first, vocabulary);
  return extras_.timestamps;
}

ScoreRules BeamRun::rules(size_t vocabulary) const {
  const auto batch = int64_t(space_.batch), tokens = int64_t(vocabulary);
  ScoreRules r{.vocabulary = vocabulary, .beams = space_.beams};
  r.repetition = in_.real(In::kRepetition, "repetition_penalty", 1);
  require(r.repetition > 0, ErrorCode::invalid_argument, "repetition_penalty is {}, expected a positive number",
          r.repetition);
  r.ngram = a_.ngram;
  r.min_length = in_.number(In::kShortest, "min_length", 0);
  r.end = a_.end;
  r.vocabulary_mask = in_.optional(In::kMask, "vocab_mask", {tokens});
  r.prefix_mask = in_.optional(In::kPrefixMask, "prefix_vocab_mask", {batch, tokens});
  r.temperature = extras_.temperature;
  r.timestamps = timestamps(vocabulary);
  return r;
}

BeamSettings BeamRun::settings(size_t vocabulary) const {
  return {.batch = space_.batch,
          .beams = space_.beams,
          .vocabulary = vocabulary,
          .end = a_.end,
          .pad = a_.pad,
          .length_penalty = in_.real(In::kLengthPenalty, "length_penalty", 1),
          .early_stopping = a_.early_stopping == 1};
}

// The scores of all tokens in all steps; steps that are not needed stay 0.
float* BeamRun::begin_scores(size_t vocabulary) const {
  if (!c_.wants(In::kScores)) return nullptr;
  const Shape shape{space_.longest - given_, int64_t(space_.batch), int64_t(space_.beams), int64_t(vocabulary)};
  auto* scores = static_cast<float*>(c_.allocate(In::kScores, DType::f32, shape));
  std::fill_n(scores, c_.out_count(In::kScores), 0.0f);
  return scores;
}

// The probability that there is no speech, from the first scores.
void BeamRun::keep_speech(TokenScores& scores) const {
  const size_t output = extras_.no_speech_output;
  if (output == 0 || !c_.wants(output)) return;
  require(extras_.no_speech >= 0 && extras_.no_speech < int64_t(scores.vocabulary()), ErrorCode::invalid_argument,
          "no_speech_token_id is {}, expected one of the {} tokens", extras_.no_speech, scores.vocabulary());
  auto* p = static_cast<float*>(c_.allocate(output, DType::f32, {int64_t(space_.batch)}));
  for (size_t i = 0; i < space_.batch; ++i) p[i] = std::exp(scores.row(i * space_.beams)[size_t(extras_.no_speech)]);
}

// Where a token is given for this step, no other can be chosen, and it adds nothing to the score. A negative one ends
// those of its entry.
void BeamRun::force_tokens(size_t step, TokenScores& scores) const {
  if (extras_.forced_input == 0 || !in_.has(extras_.forced_input)) return;
  const auto count = size_t(in_.shape(extras_.forced_input)[1]);
  const auto forced = in_.tokens(extras_.forced_input);
  for (size_t i = 0; i < space_.rows() && step < count; ++i) {
    const auto given = forced.subspan(i / space_.beams * count, step + 1);
    if (std::any_of(given.begin(), given.end(), [](int32_t t) { return t < 0; })) continue;
    require(size_t(given.back()) < scores.vocabulary(), ErrorCode::invalid_argument,
            "extra_decoding_ids has the token {}, expected one of the {} tokens", given.back(), scores.vocabulary());
    const auto row = scores.row(i);
    std::fill(row.begin(), row.end(), std::numeric_limits<float>::lowest());
    row[size_t(given.back())] = 0;
  }
}

void BeamRun::search(TokenModel& model, Sequences& sequences) {
  TokenScores scores(space_.rows(), space_.beams, size_t(std::max<int64_t>(a_.vocabulary, 0)));
  scores.load(model.first(sequences));
  const ScoreRules rules = this->rules(scores.vocabulary());
  Beams beams(settings(scores.vocabulary()));
  float* kept = begin_scores(scores.vocabulary());
  for (bool first = true;; first = false) {
    scores.normalise(c_.parallel());
    if (first) keep_speech(scores);
    rules.apply(sequences, scores.all(), first);
    force_tokens(sequences.length() - size_t(given_), scores);
    beams.choose(sequences, scores.all());
    if (kept) kept = std::copy(scores.all().begin(), scores.all().end(), kept);
    sequences.append(beams.origins(), beams.tokens());
    if (cross_attention_) cross_attention_->follow(beams.origins());
    const bool full = int64_t(sequences.length()) == space_.longest;
    if (full || beams.done() || c_.parallel().cancelled()) break;
    scores.load(model.next(sequences, beams.origins()));
  }
  finish(beams, sequences);
}

void BeamRun::finish(Beams& beams, const Sequences& sequences) {
  const auto batch = int64_t(space_.batch);
  auto* found = static_cast<int32_t*>(c_.allocate(In::kSequences, DType::i32, {batch, returned_, space_.longest}));
  float* scores = nullptr;
  if (c_.wants(In::kSequenceScores))
    scores = static_cast<float*>(c_.allocate(In::kSequenceScores, DType::f32, {batch, returned_}));
  const size_t count = space_.batch * size_t(returned_);
  beams.finish(sequences, size_t(space_.longest), {found, count * size_t(space_.longest)},
               {scores, scores ? count : 0});
  if (cross_attention_) write_cross_attention(beams);
}

std::vector<CrossAttention::Head> BeamRun::chosen_heads() const {
  std::vector<CrossAttention::Head> heads;
  if (!in_.has(extras_.heads_input)) return heads;
  const Shape& s = in_.shape(extras_.heads_input);
  require(s.rank() == 2 && s[0] > 0 && s[1] == 2, ErrorCode::invalid_argument,
          "cross_qk_layer_head has shape {}, expected [heads, 2]", to_string(s));
  const auto numbers = in_.tokens(extras_.heads_input);
  for (size_t i = 0; i < numbers.size(); i += 2) {
    require(numbers[i] >= 0 && numbers[i + 1] >= 0, ErrorCode::invalid_argument,
            "cross_qk_layer_head names layer {} and head {}, expected 0 or more", numbers[i], numbers[i + 1]);
    heads.push_back({size_t(numbers[i]), size_t(numbers[i + 1])});
  }
  return heads;
}

void BeamRun::write_cross_attention(const Beams& beams) const {
  const size_t output = extras_.cross_attention_output;
  if (!c_.wants(output)) return;
  Shape shape{int64_t(space_.batch), returned_};
  for (const int64_t extent : cross_attention_->shape()) shape.push_back(extent);
  auto* to = static_cast<float*>(c_.allocate(output, DType::f32, shape));
  const size_t size = element_count(cross_attention_->shape());
  for (size_t i = 0; i < space_.batch * size_t(returned_); ++i) {
    const CrossAttention::End end = beams.end(i / size_t(returned_), i % size_t(returned_));
    cross_attention_->write(end, {to + i * size, size});
  }
}

void BeamRun::return_nothing() const {
  const ValueType& logits = c_.bodies().output_type(c_.bodies().index("decoder"), 0);
  const int64_t known = logits.ranked && logits.rank() == 3 && is_known(logits.shape[2]) ? logits.shape[2] : 0;
  begin_scores(size_t(a_.vocabulary > 0 ? a_.vocabulary : known));
  c_.allocate(In::kSequences, DType::i32, {0, returned_, space_.longest});
  if (c_.wants(In::kSequenceScores)) c_.allocate(In::kSequenceScores, DType::f32, {0, returned_});
  const size_t output = extras_.no_speech_output;
  if (output > 0 && c_.wants(output)) c_.allocate(output, DType::f32, {0});
  if (extras_.cross_attention && c_.wants(extras_.cross_attention_output))
    c_.allocate(extras_.cross_attention_output, DType::f32, {0, returned_, 0, 0, 0});
}

void BeamRun::run() {
  if (space_.batch == 0) return return_nothing();
  const bool starts =
      model_ != SearchModel::decoder_only && !(model_ == SearchModel::sound && in_.has(In::kFirstTokens));
  require(!starts || a_.start >= 0, ErrorCode::invalid_argument,
          "decoder_start_token_id is {}, and there is no input decoder_input_ids; give one of them", a_.start);
  if (starts) start_.assign(space_.batch, int32_t(a_.start));
  Sequences sequences = begin();
  const auto model = make_model(sequences);
  search(*model, sequences);
}

}  // namespace retort::ops
