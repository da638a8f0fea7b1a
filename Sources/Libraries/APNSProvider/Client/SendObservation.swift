import CoreMetrics
import NIOCore
import Tracing

/// The tracing span and the duration of one notification, from the call to its outcome. In a bulk call both begin
/// when the notification is taken from the source.
struct SendObservation: Sendable {
    /// Begins observations. If the program has no tracer, no span is made.
    struct Observer: Sendable {
        private let tracer: (any Tracer)?
        private let duration: Timer

        /// - Parameter tracer: nil for the tracer that the program has installed.
        init(tracer: (any Tracer)?, duration: Timer) {
            let tracer = tracer ?? InstrumentationSystem.tracer
            self.tracer = tracer is NoOpTracer ? nil : tracer
            self.duration = duration
        }

        /// Begins a span as a child of the calling task's span.
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
