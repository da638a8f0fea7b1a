import NIOCore

extension TimeAmount {
    /// A caller's time, as long as it is one that a clock can be asked for: nothing waits for more than 30 days, which
    /// is how long the service keeps a notification.
    init(bounding duration: Duration) {
        let longest = Duration.seconds(30 * 86_400)
        self.init(min(max(duration, .zero), longest))
    }
}
