//! An open watch. If rules look into its events, the proxy splits JSON into single events. Any other encoding
//! passes until a rule must look into the events. The watch then ends, and the program starts another one.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::body::Body;
use crate::error::Lost;
use crate::rule::Action;
use crate::rules::{Phase, RuleId, Rules};
use crate::status::status;
use crate::target::Target;

pub(crate) fn body(body: Body, is_json: bool, target: Target, rules: Arc<Rules>) -> Body {
    let changes = rules.changes();
    let watch = Watch {
        body,
        is_json,
        target,
        rules,
        changes,
        buffer: BytesMut::new(),
        held: VecDeque::new(),
        is_over: false,
    };
    let stream = futures::stream::unfold(Some(watch), |watch| async move {
        let mut watch = watch?;
        match watch.next().await {
            Ok(Some(bytes)) => Some((Ok(Frame::data(bytes)), Some(watch))),
            Ok(None) => None,
            Err(lost) => Some((Err(lost), None)),
        }
    });
    BodyExt::boxed_unsync(StreamBody::new(stream))
}

struct Watch {
    body: Body,
    is_json: bool,
    target: Target,
    rules: Arc<Rules>,
    changes: watch::Receiver<()>,
    buffer: BytesMut,
    /// Events that are held while later events may pass, in order.
    held: VecDeque<(RuleId, Bytes)>,
    is_over: bool,
}

impl Watch {
    /// Returns `None` at the end of the watch.
    async fn next(&mut self) -> Result<Option<Bytes>, Lost> {
        loop {
            if let Some(event) = self.released()? {
                return Ok(Some(event));
            }
            if let Some(ready) = self.ready() {
                self.rules.unfrozen(&self.target).await;
                if let Some(through) = self.let_through(ready).await? {
                    return Ok(Some(through));
                }
                continue;
            }
            let is_unreadable = !self.is_json && self.rules.looks_into(&self.target);
            if is_unreadable || (self.is_over && self.held.is_empty()) {
                return Ok(None);
            }
            tokio::select! {
                frame = self.body.frame(), if !self.is_over => match frame {
                    Some(frame) => {
                        if let Ok(data) = frame?.into_data() {
                            self.buffer.extend_from_slice(&data);
                        }
                    }
                    None => self.is_over = true,
                },
                // The receiver cannot fail, because `self.rules` owns the sender.
                _ = self.changes.changed() => {}
            }
        }
    }

    fn released(&mut self) -> Result<Option<Bytes>, Lost> {
        let phases = self.held.iter().map(|(id, _)| self.rules.phase(*id));
        let Some((index, phase)) = phases.enumerate().find(|(_, phase)| *phase != Phase::On) else {
            return Ok(None);
        };
        if phase == Phase::Abandoned {
            return Err(Lost::by_rule());
        }
        Ok(self.held.remove(index).map(|(_, event)| event))
    }

    /// Returns the next bytes to deliver: in JSON whole events, or one event if a rule looks into events.
    fn ready(&mut self) -> Option<Bytes> {
        let is_newline = |byte: &u8| *byte == b'\n';
        let end = if self.is_over || !self.is_json {
            self.buffer.len()
        } else if self.rules.looks_into(&self.target) {
            self.buffer.iter().position(is_newline)? + 1
        } else {
            self.buffer.iter().rposition(is_newline)? + 1
        };
        (end > 0).then(|| self.buffer.split_to(end).freeze())
    }

    /// Applies the rules to an event. Returns `None` if the event is held.
    async fn let_through(&mut self, bytes: Bytes) -> Result<Option<Bytes>, Lost> {
        if !self.is_json || !self.rules.looks_into(&self.target) {
            return Ok(Some(bytes));
        }
        let Ok(mut event) = serde_json::from_slice::<Value>(&bytes) else { return Ok(Some(bytes)) };
        if !matches!(event["type"].as_str(), Some("ADDED" | "MODIFIED" | "DELETED")) {
            return Ok(Some(bytes));
        }
        let mut is_changed = false;
        for step in self.rules.on_object(&self.target, &event["object"]) {
            match step.action {
                Action::HoldEvents { others_pass } => {
                    self.rules.apply(&step, &self.target, Some(&event["object"]));
                    if others_pass {
                        self.held.push_back((step.id, if is_changed { line(&event) } else { bytes }));
                        return Ok(None);
                    }
                    if self.rules.ended(step.id).await == Phase::Abandoned {
                        return Err(Lost::by_rule());
                    }
                }
                Action::DelayEvents { milliseconds } => {
                    self.rules.apply(&step, &self.target, Some(&event["object"]));
                    tokio::time::sleep(Duration::from_millis(milliseconds)).await;
                }
                Action::BreakWatch { code } => {
                    self.rules.apply(&step, &self.target, Some(&event["object"]));
                    self.buffer.clear();
                    self.is_over = true;
                    let status = status(code, None, "broken by a fault rule", &self.target);
                    return Ok(Some(line(&json!({"type": "ERROR", "object": status}))));
                }
                _ => is_changed |= self.rules.rewrite(&step, &self.target, &mut event["object"]),
            }
        }
        Ok(Some(if is_changed { line(&event) } else { bytes }))
    }
}

fn line(event: &Value) -> Bytes {
    format!("{event}\n").into()
}
