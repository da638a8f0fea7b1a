/// The outcome of one notification of a bulk call.
public struct PushOutcome<Item: Sendable>: Sendable {
    /// The element of the sequence that was sent.
    public let item: Item
    /// The service's receipt if it accepted the notification, otherwise the error.
    public let result: Result<PushReceipt, ProviderError>

    /// Whether the service accepted the notification.
    public var isAccepted: Bool { if case .success = result { true } else { false } }
}

extension Result<PushAnswer, ProviderError> {
    /// A receipt if the service accepted the notification; an error if it refused or did not answer.
    var receipt: Result<PushReceipt, ProviderError> {
        flatMap { answer in
            guard answer.isSuccess else { return .failure(ProviderError(PushRejection(answer))) }
            return .success(PushReceipt(apnsID: answer.apnsID ?? "", uniqueID: answer.uniqueID))
        }
    }
}
