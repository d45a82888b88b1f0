//! Tests of speech with the model of this example. The expected samples were not computed by the library under test.

use std::io::Cursor;
use std::sync::{Arc, Mutex};

use inference::{InferError, MAX_TOKENS, SAMPLE_RATE, Speech, Voice, WavWriter, ensure_onnx_init, tokens};

const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/model/tts.onnx");
const EXPECTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/model/expected.wav");
const TEXT: &str = "həlˈO wˈɜɹld.";

fn speech() -> Speech {
    Speech::from_file(MODEL, Voice::seeded(7)).unwrap()
}

#[test]
fn the_library_may_be_loaded_several_times() {
    let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(ensure_onnx_init)).collect();
    for thread in threads {
        thread.join().unwrap().unwrap();
    }
    ensure_onnx_init().unwrap();
}

#[test]
fn speech_equals_that_of_the_reference_evaluator() {
    let audio = speech().with_speed(1.25).unwrap().say(&tokens(TEXT).unwrap()).unwrap();
    let mut writer = WavWriter::new(Cursor::new(Vec::new()), SAMPLE_RATE).unwrap();
    for part in audio.samples.chunks(1000) {
        writer.write(part).unwrap();
    }
    let file = writer.finish().unwrap().into_inner();
    let expected = std::fs::read(EXPECTED).unwrap();
    assert_eq!(file.len(), expected.len());
    assert_eq!(file[..44], expected[..44]);
    let samples = |bytes: Vec<u8>| -> Vec<i32> {
        let mut reader = hound::WavReader::new(Cursor::new(bytes)).unwrap();
        assert_eq!((reader.spec().channels, reader.spec().sample_rate, reader.spec().bits_per_sample), (1, 24_000, 16));
        reader.samples::<i32>().map(|s| s.unwrap()).collect()
    };
    let (found, wanted) = (samples(file), samples(expected));
    assert_eq!(found.len(), 13_500);
    assert!(wanted.iter().map(|s| s.abs()).max() > Some(5000), "the reference is silent");
    let apart = found.iter().zip(&wanted).map(|(a, b)| (a - b).abs()).max();
    // Two units of 1/32,767, because sines of engines differ in their last bits.
    assert!(apart <= Some(2), "{apart:?}");
}

#[test]
fn voice_and_speed_change_the_sound() {
    let (speech, said) = (speech(), tokens(TEXT).unwrap());
    let usual = speech.say(&said).unwrap();
    assert_eq!(speech.say(&said).unwrap(), usual);
    let fast = speech.with_speed(2.0).unwrap().say(&said).unwrap();
    assert!(fast.seconds() < 0.7 * usual.seconds(), "{} {}", fast.seconds(), usual.seconds());
    let other = speech.with_voice(Voice::seeded(8)).say(&said).unwrap();
    assert_ne!(other, usual);
}

#[test]
fn invalid_tokens_are_errors() {
    let speech = speech();
    assert!(matches!(speech.say(&[]), Err(InferError::Empty)));
    assert!(speech.say(&[1; MAX_TOKENS]).unwrap().seconds() > 1.0);
    assert!(matches!(speech.say(&[1; MAX_TOKENS + 1]), Err(InferError::TooLong { tokens: 511, most: 510 })));
    let error = speech.say(&[1, 2, -3]).unwrap_err().to_string();
    assert!(error.contains("token 2 is -3"), "{error}");
    // The library reports tokens that the model does not know.
    assert!(matches!(speech.say(&[1, 178]), Err(InferError::Onnx(_))));
    assert!(speech.say(&[1, 177]).is_ok());
    for speed in [0.0, -1.0, f32::NAN, 11.0] {
        assert!(speech.with_speed(speed).unwrap_err().to_string().contains("speed"), "{speed}");
    }
    // This voice has styles for fewer tokens than are said.
    let short = speech.with_voice(Voice::new(vec![0.5; 256 * 3]).unwrap());
    assert!(short.say(&[1; 3]).is_ok());
    assert!(matches!(short.say(&[1; 4]), Err(InferError::TooLong { tokens: 4, most: 3 })));
}

#[test]
fn other_models_are_errors() {
    let missing = Speech::from_file("no/such/model.onnx", Voice::seeded(1)).unwrap_err();
    assert!(matches!(&missing, InferError::Onnx(e) if e.code == onnx::OrtErrorCode::NoSuchFile), "{missing}");
    let sound = Speech::from_file(EXPECTED, Voice::seeded(1)).unwrap_err();
    assert!(matches!(sound, InferError::Onnx(_)), "{sound}");
    let decoder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/growing.onnx");
    let other = Speech::from_file(decoder, Voice::seeded(1)).unwrap_err().to_string();
    assert!(other.contains("the model has 2 inputs") && other.contains("which has three"), "{other}");
}

#[test]
fn the_session_may_be_kept_elsewhere() {
    let session = onnx::session_builder().with_intra_threads(2).commit_from_file(MODEL).unwrap();
    let session = Arc::new(Mutex::new(session));
    let speech = Speech::new(Arc::clone(&session), Voice::seeded(7)).unwrap();
    let wanted = speech.say(&[50, 83]).unwrap();
    assert!(Arc::ptr_eq(&session, speech.session()));
    // If a thread panics while it has the session, the session remains usable.
    let other = Arc::clone(&session);
    let panicked = std::thread::spawn(move || {
        let _held = other.lock().unwrap();
        std::panic::resume_unwind(Box::new("on purpose"));
    });
    assert!(panicked.join().is_err() && session.is_poisoned());
    assert_eq!(speech.say(&[50, 83]).unwrap(), wanted);
}
