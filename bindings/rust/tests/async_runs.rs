//! Tests of asynchronous runs.

mod common;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use common::{add, floats, slow};
use onnx::{RunFuture, Value};

/// Wakes a waiting thread.
struct Unpark(std::thread::Thread, AtomicUsize);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.unpark();
    }
}

fn block_on(future: RunFuture) -> onnx::Result<Vec<Value>> {
    let mut future = std::pin::pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current(), AtomicUsize::new(0))));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(result) => return result,
            Poll::Pending => std::thread::park_timeout(Duration::from_secs(60)),
        }
    }
}

#[test]
fn a_future_has_the_outputs() {
    let session = add(&["2"]);
    let (x, y) = (Arc::new(floats(&[2], &[1.0, 2.0])), Arc::new(floats(&[2], &[3.0, 4.0])));
    let future = session.run_async(&[("x", x.clone()), ("y", y.clone())], &["sum"]).unwrap();
    drop((x, y, session));
    assert_eq!(block_on(future).unwrap()[0].extract_tensor::<f32>().unwrap(), [4.0, 6.0]);
}

#[test]
fn a_thread_may_wait() {
    let session = add(&["2"]);
    let x = Arc::new(floats(&[2], &[1.0, 2.0]));
    let futures: Vec<_> = (0..20).map(|_| session.run_async(&[("x", x.clone()), ("y", x.clone())], &["sum"]).unwrap()).collect();
    for future in futures {
        assert_eq!(future.wait().unwrap()[0].extract_tensor::<f32>().unwrap(), [2.0, 4.0]);
    }
}

#[test]
fn errors_come_out_of_the_future() {
    let session = add(&["2"]);
    let x = Arc::new(floats(&[3], &[0.0; 3]));
    let started = session.run_async(&[("x", x.clone()), ("y", x.clone())], &["sum"]);
    started.and_then(RunFuture::wait).unwrap_err();
    assert!(session.run_async(&[("z", x)], &["sum"]).unwrap_err().message.contains("'z'"));
}

#[test]
fn dropping_cancels_and_waits() {
    let session = slow(400);
    let x = Arc::new(Value::zeros::<f32>(&[512, 512]).unwrap());
    let begin = std::time::Instant::now();
    session.run(&[("x", &x)], &["y"]).unwrap();
    let whole = begin.elapsed();
    // The fastest of several, because other programs may delay one.
    let time = |_| {
        let begin = std::time::Instant::now();
        drop(session.run_async(&[("x", x.clone())], &["y"]).unwrap());
        begin.elapsed()
    };
    let dropped = (0..5).map(time).min().unwrap();
    assert!(dropped < whole / 2, "dropped after {dropped:?}, a run takes {whole:?}");
    // If nothing else has a reference to the input, the run is over.
    assert_eq!(Arc::strong_count(&x), 1);
}

#[test]
fn cancelled_runs_are_errors() {
    let session = slow(400);
    let x = Arc::new(Value::zeros::<f32>(&[512, 512]).unwrap());
    let future = session.run_async(&[("x", x)], &["y"]).unwrap();
    future.cancel().unwrap();
    future.wait().unwrap_err();
}

#[test]
fn a_forgotten_future_keeps_what_its_run_needs() {
    let session = slow(20);
    let x = Arc::new(Value::zeros::<f32>(&[128, 128]).unwrap());
    std::mem::forget(session.run_async(&[("x", x.clone())], &["y"]).unwrap());
    assert!(Arc::strong_count(&x) > 1);
    drop(session);
}

/// When it is woken, drops a future and with it the last reference to the session, on the thread that wakes it.
struct Dropper(std::sync::Mutex<Option<RunFuture>>, std::sync::mpsc::Sender<()>);

impl Wake for Dropper {
    fn wake(self: Arc<Self>) {
        drop(self.0.lock().unwrap().take());
        self.1.send(()).unwrap();
    }
}

#[test]
fn the_thread_of_a_run_may_drop_its_session() {
    let session = slow(100);
    let x = Arc::new(Value::zeros::<f32>(&[256, 256]).unwrap());
    let (sender, receiver) = std::sync::mpsc::channel();
    let dropper = Arc::new(Dropper(std::sync::Mutex::new(None), sender));
    let waker = Waker::from(dropper.clone());
    let mut future = session.run_async(&[("x", x)], &["y"]).unwrap();
    drop(session);
    let mut slot = dropper.0.lock().unwrap();
    if std::pin::Pin::new(&mut future).poll(&mut Context::from_waker(&waker)).is_pending() {
        *slot = Some(future);
        drop(slot);
        receiver.recv_timeout(Duration::from_secs(60)).unwrap();
    }
}

#[test]
fn the_thread_of_a_run_may_drop_another_run() {
    let session = slow(100);
    let x = Arc::new(Value::zeros::<f32>(&[256, 256]).unwrap());
    let (sender, receiver) = std::sync::mpsc::channel();
    let mut first = session.run_async(&[("x", x.clone())], &["y"]).unwrap();
    // These are queued after the first, on the only thread that the session has besides its callers.
    let others = (0..4).map(|_| session.run_async(&[("x", x.clone())], &["y"]).unwrap()).collect::<Vec<_>>();
    let dropper = Arc::new(DropOthers(std::sync::Mutex::new(others), sender));
    let waker = Waker::from(dropper);
    if std::pin::Pin::new(&mut first).poll(&mut Context::from_waker(&waker)).is_pending() {
        receiver.recv_timeout(Duration::from_secs(60)).unwrap();
    }
    drop(session);
    first.wait().unwrap();
}

/// When it is woken, drops runs that are still in progress, on the thread that wakes it.
struct DropOthers(std::sync::Mutex<Vec<RunFuture>>, std::sync::mpsc::Sender<()>);

impl Wake for DropOthers {
    fn wake(self: Arc<Self>) {
        self.0.lock().unwrap().clear();
        self.1.send(()).unwrap();
    }
}

struct Panicking(AtomicUsize);

impl Wake for Panicking {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
        panic!("a waker panics: this message is part of the test");
    }
}

/// The panic ends on the thread of the library, which is used again afterwards.
#[test]
fn a_waker_may_panic() {
    let session = slow(400);
    let x = Arc::new(Value::zeros::<f32>(&[64, 64]).unwrap());
    let panicking = Arc::new(Panicking(AtomicUsize::new(0)));
    let waker = Waker::from(panicking.clone());
    for _ in 0..1000 {
        if panicking.0.load(Ordering::SeqCst) >= 3 {
            return;
        }
        let mut future = session.run_async(&[("x", x.clone())], &["y"]).unwrap();
        match std::pin::Pin::new(&mut future).poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(result) => drop(result.unwrap()),
            Poll::Pending => drop(future.wait().unwrap()),
        }
    }
    panic!("fewer than three of a thousand runs called the waker");
}

#[test]
fn a_session_with_one_thread_has_none_for_asynchronous_runs() {
    let model = common::Model::new().input("x", common::FLOAT, &["n"]).output("y", common::FLOAT, &["n"]).node("Neg", &["x"], &["y"], &[]);
    let session = onnx::session_builder().with_intra_threads(1).commit_from_memory(&model.bytes()).unwrap();
    let error = session.run_async(&[("x", Arc::new(floats(&[1], &[1.0])))], &["y"]).unwrap_err();
    assert!(error.message.contains("SessionBuilder::with_intra_threads"), "{error}");
}
