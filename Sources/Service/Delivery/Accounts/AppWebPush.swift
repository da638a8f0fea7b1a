/// What Web Push does with messages to an app's phones, which are behind the app's upstream (docs/web-push.md).
///
/// It is a part of the accounts, so a change takes effect on every node with the next message.
package struct AppWebPush: Sendable, Hashable {
    package let place: UpstreamPlace
    /// What the notifications are made from.
    package let template: WebPushTemplate
    /// Whether the app has the relay's URL, `/relay-to/…`. One app of each environment can have it.
    package let relaysTo: Bool
    /// Whether messages to the app's phones may be without encryption.
    package let isPlain: Bool

    package init(
        place: UpstreamPlace, template: WebPushTemplate = .usual, relaysTo: Bool = false, isPlain: Bool = false
    ) {
        self.place = place
        self.template = template
        self.relaysTo = relaysTo
        self.isPlain = isPlain
    }
}
