/// What became of one notification of many.
public struct PushOutcome<Item: Sendable>: Sendable {
    /// What was taken from the sequence.
    public let item: Item
    /// The service's receipt, or why there is none.
    public let result: Result<PushReceipt, ProviderError>

    /// Whether the service took it.
    public var isAccepted: Bool { if case .success = result { true } else { false } }
}

extension Result<PushAnswer, ProviderError> {
    /// A receipt where the service took the notification, an error where it refused or did not answer.
    var receipt: Result<PushReceipt, ProviderError> {
        flatMap { answer in
            guard answer.status == 200 else { return .failure(ProviderError(PushRejection(answer))) }
            return .success(PushReceipt(apnsID: answer.apnsID ?? "", uniqueID: answer.uniqueID))
        }
    }
}
