import Logging

extension ProviderClient {
    /// Takes a device token out of the caller's record that the service called inactive with 410.
    ///
    /// Not after BadDeviceToken or DeviceTokenNotForTopic, although nothing should be sent there again either: a client
    /// that is pointed at the wrong environment gets one of these for every device token there is.
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
