import APNSProvider
import CommandSupport
import Connections
import Notifications

/// What to try next, in a sentence for a person.
enum Advice {
    /// The cause of a failed connection to a service, and what to try next.
    /// - Returns: nil if there is nothing to say beside the error's own text.
    static func onFailure(_ error: any Error) -> String? {
        guard let error = error as? ProviderError, let advice = advice(error.cause) else { return nil }
        return error.cause.asSentence + " " + advice
    }

    private static func advice(_ cause: String) -> String? {
        if cause.contains("ca-certificates") { return "Name the server's root certificate with --ca FILE." }
        if cause.contains(ConnectionFailure.untrusted) {
            return "If the server has an authority of its own, name its root certificate with --ca FILE."
        }
        if cause.contains(ConnectionFailure.otherName) { return "Use a name of its certificate in --url." }
        if cause.contains(ConnectionFailure.noTLS) || cause.contains(ConnectionFailure.endedInHandshake) {
            return "Check the address and the port."
        }
        return nil
    }

    /// What this machine's clock has to do with a rejection; nil if the rejection does not point to the clock.
    static func onClock(_ answer: PushAnswer) -> String? { answer.rejection.clockAdvice }

    /// Advice after a rejection whose reason a person may not understand. In production the service gives no
    /// `detail`.
    static func onRefusal(_ answer: PushAnswer, in environment: Environment) -> String? {
        guard answer.reason == Rejection.Reason.badDeviceToken.rawValue, answer.detail == nil else { return nil }
        let other: Environment = environment == .production ? .development : .production
        return
            "A device token is for one environment of one service. Is this one for \(other.rawValue)? Then send it with "
            + "--environment \(other.rawValue)."
    }
}
