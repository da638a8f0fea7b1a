import Notifications

extension CourierResponse {
    /// The courier's refusal; nil if it accepted the request.
    var refusal: DeviceError? {
        guard !(200..<300).contains(status) else { return nil }
        let object = JSONObject(body)
        return DeviceError(
            refusal: object?[text: "reason"], detail: object?[text: "detail"], status: status)
    }
}

extension DeviceError {
    /// The reasons that mean that the identity cannot be used (docs/device-protocol.md).
    private static let identityReasons: Set<Rejection.Reason> = [
        .badCertificate, .badCertificateEnvironment, .forbidden, .unregistered,
    ]

    /// The reason for a request that did not end in time, which is a problem of the network.
    private static let tooLate = Rejection.Reason.idleTimeout

    /// Creates an error from the courier's reason, detail and status.
    init(refusal reason: String?, detail: String?, status: Int) {
        let known = reason.flatMap(Rejection.Reason.init(rawValue:))
        let code: Code
        if let known, Self.identityReasons.contains(known) {
            code = .identityRefused
        } else if status == 429 || status >= 500 || known == Self.tooLate {
            code = .unavailable
        } else {
            code = .refused
        }
        let words = [reason, detail].compactMap(\.self).joined(separator: ". ")
        self.init(
            code, "The courier refused: \(words.isEmpty ? "status \(status)" : "\(status) \(words)")", reason: reason)
    }
}
