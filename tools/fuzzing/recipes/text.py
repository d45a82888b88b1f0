"""Strings."""
import numpy as np

from . import recipe


@recipe("StringConcat")
def concat(case):
    for shape in case.broadcasting(2):
        case.input("string", shape)


@recipe("StringNormalizer")
def normalizer(case):
    case.attr("case_change_action", case.pick("LOWER", "UPPER", "NONE"), 0.7)
    case.attr("is_case_sensitive", case.dim(0, 1), 0.7)
    case.attr("stopwords", ["a", "Ab", "x"], 0.5)
    case.attr("locale", "C", 0.95)  # other locales may not be installed
    n = case.dim(0 if case.odd() else 1, 6)
    case.input("string", (n,) if case.maybe() else (1, n))


@recipe("StringSplit")
def split(case):
    case.attr("delimiter", case.pick(" ", ",", "a", "", "ab"), 0.7)
    case.attr("maxsplit", case.dim(0, 3), 0.4)
    case.input("string", case.extents(0, 3, 4))


@recipe("RegexFullMatch")
def regex(case):
    case.attr("pattern", case.pick("a.*", "[ab]+", "", r"\d+", "(a|b)b?", "[", "^a$", r"\w+\s\w"))
    case.input("string", case.extents(0, 3, 4))


@recipe("TfIdfVectorizer")
def tf_idf(case):
    of = case.elem("T")
    grams, pool = case.dim(1, 3), [*case.r.sample(range(5), 4), *case.pick([0, 1, 1, 0], [2, 3, 4, 4]), *[case.dim(0, 4) for _ in range(3)]]
    counts = [0, 4, 8][:grams]
    ngrams = {1: 4, 2: 2, 3: 1}
    entries = {1: pool[:4], 2: pool[4:8], 3: pool[8:11]}
    items = [v for g in range(1, grams + 1) for v in entries[g]]
    total = sum(ngrams[g] for g in range(1, grams + 1))
    case.attr("mode", case.pick("TF", "IDF", "TFIDF"))
    case.attr("min_gram_length", case.dim(1, grams)), case.attr("max_gram_length", grams), case.attr("max_skip_count", case.dim(0, 2))
    case.attr("ngram_counts", counts), case.attr("ngram_indexes", list(range(total)))
    case.attr("weights", [case.r.uniform(0, 2) for _ in range(total)], 0.5)
    words = [f"w{i}" for i in range(5)]
    if of == 8:
        case.attr("pool_strings", [words[v] for v in items])
    else:
        case.attr("pool_int64s", items)
    shape = case.pick((case.dim(1, 9),), (case.dim(1, 3), case.dim(1, 9)))
    values = case.numbers.generator.integers(0, 5, shape)
    if of == 8:
        array = np.empty(values.size, object)
        array[:] = [words[v] for v in values.ravel()]
        case.give(array.reshape(shape))
    else:
        case.give(values.astype(np.int32 if of == 6 else np.int64))


@recipe("com.microsoft:Tokenizer")
def tokenizer(case):
    case.attr("mark", case.dim(0, 1)), case.attr("mincharnum", case.dim(1, 3)), case.attr("pad_value", "#")
    if case.maybe():
        case.attr("separators", case.pick([" "], [","], [""], ["a", "b"]))
    else:
        case.attr("tokenexp", case.pick("[a-z]+", r"\w+", "."))
    least = 0 if case.maybe(0.1) else 1
    case.input("string", case.pick((case.dim(least, 5),), (case.dim(least, 2), case.dim(least, 3))))


@recipe("com.microsoft:MurmurHash3")
def murmur(case):
    case.attr("seed", case.dim(0, 99), 0.6)
    positive = case.attr("positive", case.dim(0, 1), 0.7)
    case.input("T1", case.extents(1, 2))
    case.chosen["T2"] = 6 if positive == 0 else 12


@recipe("com.microsoft:WordConvEmbedding")
def word_conv_embedding(case):
    chars, size, conv, filters, width = case.dim(3, 9), case.dim(1, 4), case.dim(1, 4), case.dim(1, 4), case.dim(1, 3)
    case.attr("embedding_size", filters, 0.5), case.attr("conv_window_size", width, 0.5), case.attr("char_embedding_size", size, 0.5)
    del conv
    case.give(case.numbers.generator.integers(0, chars, (case.dim(1, 4), width + case.dim(0, 5))).astype(np.int32))
    case.input("T1", (filters, 1, width, size), "normal"), case.input("T1", (filters,), "normal"), case.input("T1", (chars, size), "normal")


@recipe("com.microsoft:NGramRepeatBlock")
def ngram_repeat_block(case):
    batch, words = case.dim(1, 3), case.dim(3, 8)
    case.attr("ngram_size", case.dim(1, 3))
    case.give(case.numbers.generator.integers(0, words, (batch, case.dim(1, 8))).astype(np.int64))
    case.input("T", (batch, words), "normal")
