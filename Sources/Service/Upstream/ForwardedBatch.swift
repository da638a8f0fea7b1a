import APNSProvider
import Delivery
import NIOCore

/// The answers to notifications that were forwarded together. Counts them, and hands them over.
final class ForwardedBatch: AnswerReader {
    private let answers: any ForwardingAnswers
    private let metrics: PlaceMetrics
    /// Nil if the credentials are the client's.
    private let credentials: CredentialsWatch?
    private let began = NIODeadline.now()

    init(_ answers: any ForwardingAnswers, _ metrics: PlaceMetrics, _ credentials: CredentialsWatch?) {
        self.answers = answers
        self.metrics = metrics
        self.credentials = credentials
    }

    /// Makes the request for one of the notifications.
    /// - Parameter grant: nil if a team has sent it.
    func request(_ ticket: UInt64, _ push: ForwardedPush, _ grant: GrantMetrics?) -> ForwardedPushRequest {
        ForwardedPushRequest(
            UpstreamPool.request(push), share: push.share.rawValue, waitsForConnection: push.isHeld
        ) { [self] result in
            let (answer, time) = (UpstreamPool.answer(result), NIODeadline.now() - began)
            metrics.answered(answer, after: time)
            credentials?.answered(answer)
            grant?.answered(after: time)
            return answers.add(answer, to: ticket) ? self : nil
        }
    }

    func wake() { answers.answersArrived() }
}
