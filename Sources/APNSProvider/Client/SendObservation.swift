import CoreMetrics
import NIOCore
import Tracing

/// The span and the duration of one notification: from the call, or from its being taken from a sequence, to its outcome.
struct SendObservation: Sendable {
    /// Where the program has no tracer it costs nothing.
    struct Observer: Sendable {
        private let tracer: (any Tracer)?
        private let duration: Timer

        /// - Parameter tracer: nil for the one that the program has installed.
        init(tracer: (any Tracer)?, duration: Timer) {
            let tracer = tracer ?? InstrumentationSystem.tracer
            self.tracer = tracer is NoOpTracer ? nil : tracer
            self.duration = duration
        }

        /// Begins, as a child of the span that the calling task is in.
        func begin(at start: NIODeadline) -> SendObservation {
            let span = tracer?.startAnySpan("apns.send", context: .current ?? .topLevel, ofKind: .client)
            return SendObservation(start: start, span: span, duration: duration)
        }
    }

    private let start: NIODeadline
    private let span: (any Span)?
    private let duration: Timer

    func end(_ answer: Ticket.Answer) {
        duration.recordNanoseconds((NIODeadline.now() - start).nanoseconds)
        guard let span else { return }
        switch answer {
        case .success(let answer):
            span.attributes["http.response.status_code"] = answer.status
            if let reason = answer.reason { span.setStatus(SpanStatus(code: .error, message: reason)) }
        case .failure(let error):
            span.setStatus(SpanStatus(code: .error, message: "\(error.code)"))
        }
        span.end()
    }
}
