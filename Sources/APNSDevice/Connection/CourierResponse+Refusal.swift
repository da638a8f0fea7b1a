import Notifications

extension CourierResponse {
    /// Why the courier did not do what was asked; nil where it did.
    var refusal: DeviceError? {
        guard !(200..<300).contains(status) else { return nil }
        let object = JSONObject(body)
        return DeviceError(
            refusal: object?[text: "reason"], detail: object?[text: "detail"], status: status)
    }
}

extension DeviceError {
    /// Reasons that say the identity is of no use (docs/device-protocol.md).
    private static let identityReasons: Set<String> = [
        "BadCertificate", "BadCertificateEnvironment", "Forbidden", "Unregistered",
    ]

    /// The reason of a request that did not end in time: a matter of the network.
    private static let tooLate = "IdleTimeout"

    /// A refusal in the courier's words.
    init(refusal reason: String?, detail: String?, status: Int) {
        let code: Code
        if let reason, Self.identityReasons.contains(reason) {
            code = .identityRefused
        } else if status == 429 || status >= 500 || reason == Self.tooLate {
            code = .unavailable
        } else {
            code = .refused
        }
        let words = [reason, detail].compactMap(\.self).joined(separator: ". ")
        self.init(
            code, "The courier refused: \(words.isEmpty ? "status \(status)" : "\(status) \(words)")", reason: reason)
    }
}
