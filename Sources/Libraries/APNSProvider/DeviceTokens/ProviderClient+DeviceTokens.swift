import Logging

extension ProviderClient {
    /// Removes a device token from the caller's record if the service answered with 410.
    ///
    /// BadDeviceToken and DeviceTokenNotForTopic remove nothing, although nothing should be sent to such a device
    /// token either: a client that uses the wrong environment gets one of these answers for each of its device
    /// tokens.
    func forget(_ push: Push, after result: Result<PushReceipt, ProviderError>) async {
        guard let store = configuration.deviceTokens, case .failure(let error) = result,
            let rejection = error.rejection, rejection.status == 410
        else { return }
        do {
            try await store.forget(
                push.deviceToken, topic: push.notification.topic, inactiveSince: rejection.timestamp)
        } catch {
            logger.info("The record of device tokens failed", metadata: ["cause": "\(error)"])
        }
    }
}
