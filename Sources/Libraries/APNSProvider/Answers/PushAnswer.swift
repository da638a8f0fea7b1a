/// The service's answer to one request, with the values of the response (Guide, Tables 8-3 to 8-5).
package struct PushAnswer: Sendable, Hashable {
    /// The HTTP status: 200 is success. The management of channels also has 201 and 204.
    package var status: Int
    /// The notification's identifier, from the `apns-id` header.
    package var apnsID: String?
    /// The identifier for the delivery log; in the development environment only.
    package var uniqueID: String?
    /// The reason of a rejection, from the body.
    package var reason: String?
    /// The time from which the device token was invalid, in milliseconds since 1970; with status 410 only.
    package var timestamp: UInt64?
    /// A description of the mistake in this request, if the service sends one.
    package var detail: String?
    /// The identifier of the channel that was created.
    package var channelID: String?
    /// The value of `retry-after`, in seconds.
    package var retryAfter: Int?
    /// By how many seconds this machine's clock is ahead of the service's. With status 403 only; nil if the answer has no
    /// `date` (RFC 9110, 6.6.1).
    package var clockDifference: Int64?
    /// The answer's body, in JSON.
    package var body: [UInt8]

    /// Whether the service did what was asked.
    package var isSuccess: Bool { Self.isSuccess(status) }
    static func isSuccess(_ status: Int) -> Bool { (200..<300).contains(status) }

    package init(
        status: Int,
        apnsID: String? = nil,
        uniqueID: String? = nil,
        reason: String? = nil,
        timestamp: UInt64? = nil,
        detail: String? = nil,
        channelID: String? = nil,
        body: [UInt8] = [],
    ) {
        self.status = status
        self.apnsID = apnsID
        self.uniqueID = uniqueID
        self.reason = reason
        self.timestamp = timestamp
        self.detail = detail
        self.channelID = channelID
        self.body = body
    }
}

extension PushAnswer {
    /// The longest reason, in bytes. Apple's longest has 32.
    package static let maximumReasonBytes = 64

    /// Whether a text can be the reason of a rejection: a word in ASCII.
    static func isReason(_ text: String) -> Bool {
        (1...maximumReasonBytes).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7e).contains($0) }
    }

    /// The value of a header with an identifier; nil if it is empty or blank, which says no more than a missing one.
    static func identifier(_ value: String) -> String? {
        value.utf8.contains { $0 > 0x20 } ? value : nil
    }

    /// The rejection that an answer is which is no success.
    package var rejection: PushRejection { PushRejection(self) }

    /// The error of an answer that is no success. If it has no reason, it is not a push service's: something in between has
    /// answered, or the address is that of another server.
    var error: ProviderError {
        guard reason == nil else { return ProviderError(PushRejection(self)) }
        let missing = isSuccess ? "the apns-id of a push service" : "a reason in JSON"
        return ProviderError(
            .unexpectedAnswer, "The answer is not a push service's: status \(status) without \(missing).",
            mayHaveBeenTaken: isSuccess)
    }
}
