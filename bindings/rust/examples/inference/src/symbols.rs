//! The tokens of phonemes, and cutting texts into pieces that a model accepts.

use crate::{InferError, Result};

/// The number of tokens that a model accepts at once, without the two that stand for silence around them.
pub const MAX_TOKENS: usize = 510;

/// The symbols that Kokoro's models know, in runs of consecutive tokens: the token of the first symbol, and the
/// symbols.
const RUNS: [(i64, &str); 30] = [
    (1, ";:,.!?"),
    (9, "—…\"()“” \u{303}ʣʥʦʨᵝꭧAI"),
    (31, "O"),
    (33, "Q"),
    (35, "ST"),
    (39, "W"),
    (41, "Yᵊabcdef"),
    (50, "hijklmnopqrstuvwxyzɑɐɒæ"),
    (75, "βɔɕç"),
    (80, "ɖðʤə"),
    (85, "ɚɛɜ"),
    (90, "ɟ"),
    (92, "ɡ"),
    (99, "ɥ"),
    (101, "ɨɪʝ"),
    (110, "ɯɰŋɳɲɴø"),
    (118, "ɸθœ"),
    (123, "ɹ"),
    (125, "ɾɻ"),
    (128, "ʁɽʂʃʈʧ"),
    (135, "ʊʋ"),
    (138, "ʌɣɤ"),
    (142, "χʎ"),
    (147, "ʒʔ"),
    (156, "ˈˌː"),
    (162, "ʰ"),
    (164, "ʲ"),
    (169, "↓"),
    (171, "→↗↘"),
    (177, "ᵻ"),
];

/// Returns the token of a symbol. A plain `g` counts as the phoneme `ɡ`, which looks the same.
fn token(symbol: char) -> Option<i64> {
    let symbol = if symbol == 'g' { 'ɡ' } else { symbol };
    RUNS.iter().find_map(|(first, run)| (*first..).zip(run.chars()).find(|(_, known)| *known == symbol).map(|(token, _)| token))
}

/// Converts a text of phonemes, of any length, to tokens, one for each character. It is an error if a character has no
/// token.
///
/// ```
/// assert_eq!(inference::tokens("həlˈO")?, [50, 83, 54, 156, 31]);
/// assert!(inference::tokens("50%").is_err());
/// # Ok::<(), inference::InferError>(())
/// ```
pub fn tokens(text: &str) -> Result<Vec<i64>> {
    text.chars().enumerate().map(|(at, symbol)| token(symbol).ok_or(InferError::Symbol { symbol, at })).collect()
}

/// Cuts a text into pieces of at most [`MAX_TOKENS`] tokens: after the last end of a sentence that fits, or else after
/// the last other punctuation mark, or else at the last space. The result is empty for a text of spaces.
///
/// It is an error if a character has no token, or if more tokens than that follow each other without a place to cut.
pub fn pieces(text: &str) -> Result<Vec<Vec<i64>>> {
    let space = token(' ');
    let all = tokens(text)?;
    let (mut rest, mut found) = (&all[..], Vec::new());
    loop {
        let silent = rest.iter().take_while(|t| Some(**t) == space).count();
        rest = &rest[silent..];
        if rest.is_empty() {
            return Ok(found);
        }
        let (piece, more) = rest.split_at(cut(rest)?);
        found.push(piece.to_vec());
        rest = more;
    }
}

/// Returns how many of these tokens form the next piece.
fn cut(tokens: &[i64]) -> Result<usize> {
    if tokens.len() <= MAX_TOKENS {
        return Ok(tokens.len());
    }
    let place = |marks: &str| {
        let marks: Vec<i64> = marks.chars().filter_map(token).collect();
        tokens[..MAX_TOKENS].iter().rposition(|t| marks.contains(t)).map(|at| at + 1)
    };
    let found = place(".!?…").or_else(|| place(";:,—")).or_else(|| place(" "));
    found.ok_or(InferError::TooLong { tokens: tokens.len(), most: MAX_TOKENS })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_symbol_has_a_separate_token() {
        let all: Vec<char> = RUNS.iter().flat_map(|(_, run)| run.chars()).collect();
        let mut found: Vec<i64> = all.iter().map(|c| token(*c).unwrap()).collect();
        assert_eq!(found.len(), 114);
        assert!(found.iter().all(|t| (1..178).contains(t)));
        found.dedup();
        assert_eq!(found.len(), all.len());
        assert!(found.is_sorted());
        assert_eq!((token('ɡ'), token('g'), token('ᵻ'), token('\u{303}')), (Some(92), Some(92), Some(177), Some(17)));
    }

    #[test]
    fn symbols_without_a_token_are_errors() {
        assert!(matches!(tokens("həl%"), Err(InferError::Symbol { symbol: '%', at: 3 })));
        assert!(matches!(pieces("ab\ncd"), Err(InferError::Symbol { symbol: '\n', at: 2 })));
        assert_eq!(tokens("").unwrap(), []);
    }

    #[test]
    fn texts_are_cut_where_they_may_be() {
        assert_eq!(pieces("").unwrap(), Vec::<Vec<i64>>::new());
        assert_eq!(pieces("   ").unwrap(), Vec::<Vec<i64>>::new());
        assert_eq!(pieces(" ab ").unwrap(), [tokens("ab ").unwrap()]);
        let sentence = format!("{}.", "a".repeat(299));
        let text = format!("{sentence} {sentence} {}, {}", "b".repeat(400), "c".repeat(500));
        let found = pieces(&text).unwrap();
        assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [300, 300, 401, 500]);
        // Only spaces were cut away.
        let said: usize = found.iter().map(Vec::len).sum();
        assert_eq!(said, text.chars().count() - 3);
    }

    #[test]
    fn a_text_without_a_place_to_cut_is_an_error() {
        let longest = "a".repeat(MAX_TOKENS);
        assert_eq!(pieces(&longest).unwrap().len(), 1);
        let error = pieces(&format!("a. {longest}a")).unwrap_err();
        assert!(matches!(error, InferError::TooLong { tokens: 511, most: 510 }), "{error}");
    }
}
