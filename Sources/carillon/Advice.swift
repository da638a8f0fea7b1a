import APNSProvider
import Notifications

/// What to try next, in a sentence for a person.
enum Advice {
    /// Advice after a failed connection.
    static func onFailure(_ cause: String) -> String? {
        if cause.contains("ca-certificates") { return "Name the server's root certificate with --ca FILE." }
        guard cause.contains("CERTIFICATE_VERIFY_FAILED") else { return nil }
        return
            "The server's certificate is not from an authority that is trusted here; if it has its own, name its root "
            + "certificate with --ca FILE."
    }

    /// Advice after a rejection whose reason a person may not understand. In production the service gives no
    /// `detail`.
    static func onRefusal(_ answer: PushAnswer, in environment: Environment) -> String? {
        guard answer.reason == "BadDeviceToken", answer.detail == nil else { return nil }
        let other: Environment = environment == .production ? .development : .production
        return
            "A device token is for one environment of one service. Is this one for \(other.rawValue)? Then send it with "
            + "--environment \(other.rawValue)."
    }
}
