/// The service's own short name for an app, which device tokens carry in the place of its bundle ID.
package struct AppID: RawRepresentable, Sendable, Hashable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }
}
