//! Tests of streams of speech, in tasks of tokio.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::stream::FusedStream;
use futures::{FutureExt, SinkExt, Stream, StreamExt};
use inference::{InferError, MAX_TOKENS, Speech, SpeechStream, Utterance, Voice, tokens};

const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/model/tts.onnx");

fn speech() -> Speech {
    Speech::from_file(MODEL, Voice::seeded(7)).unwrap()
}

/// Returns the tokens of a short piece, different ones for each number.
fn piece(number: i64) -> Vec<i64> {
    vec![50, 83, 54, 156, 31, 43 + number]
}

fn is_send<T: Send + 'static>(value: T) -> T {
    value
}

/// [`Speech`] runs models with Kokoro's interface.
#[test]
fn test_kokoro_is_send() {
    is_send(speech());
    is_send(speech().session().clone());
}

#[test]
fn test_implements_sink_and_stream() {
    fn check<T: futures::Sink<Utterance, Error = InferError> + Stream<Item = inference::Result<inference::Audio>> + Send>(_: &T) {}
    check(&speech().stream(1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clones_speak_at_once_in_tasks() {
    let speech = speech();
    let mut wanted = Vec::new();
    for number in 0..8 {
        wanted.push(speech.say_later(&piece(number)).await.unwrap());
    }
    let tasks: Vec<_> = (0..8)
        .map(|number| {
            let speech = speech.clone();
            tokio::spawn(is_send(async move {
                let mut last = None;
                for _ in 0..20 {
                    // Kept across an await, after which another thread may continue.
                    last = Some(speech.say_later(&piece(number)).await.unwrap());
                    tokio::task::yield_now().await;
                }
                last.unwrap()
            }))
        })
        .collect();
    for (task, wanted) in tasks.into_iter().zip(wanted) {
        assert_eq!(task.await.unwrap(), wanted);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pieces_come_out_in_order() {
    let speech = speech();
    let (mut sink, stream) = is_send(speech.stream(2)).split();
    let sender = tokio::spawn(async move {
        for number in 0..30 {
            sink.send(Utterance::from(piece(number))).await.unwrap();
        }
        sink.close().await.unwrap();
        assert!(matches!(sink.send(Utterance::from("a")).await, Err(InferError::Closed)));
    });
    let found: Vec<_> = stream.map(|audio| audio.unwrap()).collect().await;
    sender.await.unwrap();
    assert_eq!(found.len(), 30);
    for (number, audio) in (0..).zip(found) {
        assert_eq!(audio, speech.say(&piece(number)).unwrap(), "piece {number}");
    }
}

/// Sends without waiting; returns whether the sink was ready.
fn try_send(stream: &mut SpeechStream, number: i64) -> bool {
    stream.send(Utterance::from(piece(number))).now_or_never().is_some_and(|sent| sent.is_ok())
}

#[tokio::test]
async fn the_sink_is_not_ready_while_too_much_waits() {
    let speech = speech();
    let mut stream = speech.stream(3);
    assert!((0..3).all(|number| try_send(&mut stream, number)));
    // The pieces are complete but not taken, so nothing more is accepted, however long one waits.
    assert!(!try_send(&mut stream, 3));
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!try_send(&mut stream, 3));
    assert_eq!((stream.pending(), stream.size_hint()), (3, (3, None)));
    assert_eq!(stream.next().await.unwrap().unwrap(), speech.say(&piece(0)).unwrap());
    assert!(try_send(&mut stream, 3));
    assert!(!try_send(&mut stream, 4));
    // A capacity of 0 counts as 1.
    let mut narrow = speech.stream(0);
    assert!(try_send(&mut narrow, 0) && !try_send(&mut narrow, 1));
}

#[tokio::test]
async fn a_text_of_several_pieces_is_one_item_of_the_sink() {
    let speech = speech();
    let sentence = format!("{}.", "a".repeat(400));
    let mut stream = speech.stream(1);
    stream.send(Utterance::from(format!("{sentence} {sentence} {sentence}"))).await.unwrap();
    assert_eq!(stream.pending(), 3);
    stream.close().await.unwrap();
    assert_eq!(stream.size_hint(), (3, Some(3)));
    let wanted = speech.say(&tokens(&sentence).unwrap()).unwrap();
    for _ in 0..3 {
        assert_eq!(stream.next().await.unwrap().unwrap(), wanted);
    }
    assert!(stream.next().await.is_none());
    assert!(stream.is_terminated());
}

#[tokio::test]
async fn utterances_that_cannot_be_said_do_not_change_the_stream() {
    let mut stream = speech().stream(4);
    assert!(matches!(stream.send(Utterance::from("")).await, Err(InferError::Empty)));
    assert!(matches!(stream.send(Utterance::from("  ")).await, Err(InferError::Empty)));
    assert!(matches!(stream.send(Utterance::from(Vec::new())).await, Err(InferError::Empty)));
    assert!(matches!(stream.send(Utterance::from("50%")).await, Err(InferError::Symbol { symbol: '5', at: 0 })));
    assert!(matches!(stream.send(Utterance::from(vec![1; MAX_TOKENS + 1])).await, Err(InferError::TooLong { .. })));
    assert!(matches!(stream.send(Utterance::from("a".repeat(MAX_TOKENS + 1))).await, Err(InferError::TooLong { .. })));
    assert_eq!(stream.pending(), 0);
    // A run that fails is an item of the stream, and the items after it follow.
    stream.send(Utterance::from(piece(0))).await.unwrap();
    stream.send(Utterance::from(vec![178])).await.unwrap();
    stream.send(Utterance::from(piece(1))).await.unwrap();
    stream.close().await.unwrap();
    let found: Vec<bool> = stream.map(|audio| audio.is_ok()).collect().await;
    assert_eq!(found, [true, false, true]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_listener_is_woken_by_what_is_sent_and_by_the_end() {
    let (mut sink, mut stream) = speech().stream(1).split();
    let listener = tokio::spawn(async move {
        let first = stream.next().await.unwrap().unwrap();
        (first, stream.next().await.is_none())
    });
    // Usually long enough for the listener to wait already; the test is correct either way.
    tokio::time::sleep(Duration::from_millis(20)).await;
    sink.send(Utterance::from(piece(0))).await.unwrap();
    tokio::time::sleep(Duration::from_millis(20)).await;
    sink.close().await.unwrap();
    let (first, ended) = tokio::time::timeout(Duration::from_secs(60), listener).await.unwrap().unwrap();
    assert_eq!(first, speech().say(&piece(0)).unwrap());
    assert!(ended);
}

#[tokio::test]
async fn dropping_a_stream_cancels_its_pieces() {
    let speech = speech();
    let long = vec![60; MAX_TOKENS];
    speech.say(&long).unwrap();
    let begun = Instant::now();
    for _ in 0..10 {
        speech.say(&long).unwrap();
    }
    let ten = begun.elapsed();
    let mut stream = speech.stream(1000);
    for _ in 0..1000 {
        stream.send(Utterance::from(long.clone())).await.unwrap();
    }
    assert!(stream.next().await.unwrap().is_ok());
    let begun = Instant::now();
    drop(stream);
    // At most one run is waited for; all of them would take a hundred times `ten`.
    assert!(begun.elapsed() < ten * 20, "{:?} {ten:?}", begun.elapsed());
    // No run continues: the session is dropped with the last object that used it.
    let session = Arc::downgrade(speech.session());
    assert!(speech.say(&piece(0)).is_ok());
    drop(speech);
    assert!(session.upgrade().is_none());
}

#[tokio::test]
async fn an_abandoned_run_leaves_the_session_usable() {
    let speech = speech();
    let long = vec![60; MAX_TOKENS];
    for _ in 0..20 {
        // The first poll starts the run, and then the future is dropped.
        drop(speech.say_later(&long).now_or_never());
    }
    assert!(speech.say(&long).is_ok());
}
