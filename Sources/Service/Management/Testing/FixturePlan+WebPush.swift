import Delivery
import HTTPAPI
import Notifications
import Trust
import VirtualDevices
import WebPushEncryption

// The Web Push subscriptions of a fixture.
extension FixturePlan {
    /// A subscription that was checked.
    struct PlannedSubscription: Sendable {
        let bundleID: BundleID
        let name: String
        let vapid: [UInt8]?
        let isPlain: Bool
        let keys: SubscriptionKeys
        let endpoint: EndpointID?

        func wanted(of app: App) -> WantedSubscription {
            WantedSubscription(app, name: name, vapid: vapid, isPlain: isPlain, keys: keys, endpoint: endpoint)
        }
    }

    /// Checks the subscriptions of one device.
    /// - Parameter apps: the device's.
    mutating func subscriptions(
        _ written: [ManagementMessages.FixtureSubscription],
        apps: [BundleID],
        at pointer: String,
    ) throws(Problem) -> [PlannedSubscription] {
        guard !written.isEmpty else { return [] }
        guard testing.devices.hasWebPush else {
            throw Problem(
                409, "The service has no Web Push: its option --web-push switches it on.", pointer: pointer)
        }
        var planned: [PlannedSubscription] = []
        for (index, subscription) in written.enumerated() {
            let place = "\(pointer)/\(index)"
            let next = try self.subscription(subscription, apps: apps, at: place)
            guard !planned.contains(where: { $0.bundleID == next.bundleID && $0.name.isSame(as: next.name) }) else {
                throw Problem.invalid(place + "/name", "The app \(next.bundleID) has this subscription twice.")
            }
            planned.append(next)
        }
        return planned
    }

    private mutating func subscription(
        _ written: ManagementMessages.FixtureSubscription,
        apps: [BundleID],
        at pointer: String,
    ) throws(Problem) -> PlannedSubscription {
        guard let name = written.bundleID ?? (apps.count == 1 ? apps.first?.rawValue : nil) else {
            throw Problem.invalid(pointer, "The key bundleID is missing; only a device with one app can leave it out.")
        }
        guard let bundleID = apps.first(where: { $0.rawValue == name }) else {
            throw Problem.invalid(pointer + "/bundleID", "The device has no app \(name).")
        }
        let vapid = try written.vapid.map { text throws(Problem) in
            guard let key = VAPIDKey.bytes(text) else {
                throw Problem.invalid(pointer + "/vapid", VAPIDKey.rule)
            }
            return key
        }
        return PlannedSubscription(
            bundleID: bundleID, name: written.name, vapid: vapid, isPlain: written.plain ?? false,
            keys: try Self.keys(written, at: pointer),
            endpoint: try endpoint(written.endpoint, at: pointer + "/endpoint"))
    }

    /// The keys that the document names, and new ones for those that it does not.
    private static func keys(
        _ written: ManagementMessages.FixtureSubscription,
        at pointer: String,
    ) throws(Problem) -> SubscriptionKeys {
        let new = SubscriptionKeys()
        let keys: SubscriptionKeys
        do throws(WebPushEncryptionError) {
            keys = try SubscriptionKeys(
                privateKey: written.privateKey ?? new.privateText, auth: written.auth ?? new.authText)
        } catch {
            throw Problem.invalid(pointer + (error.code == .badSecret ? "/auth" : "/privateKey"), error.cause)
        }
        guard written.p256dh.map({ $0 == keys.p256dh }) ?? true else {
            throw Problem.invalid(pointer + "/p256dh", "The value has to be the public key of privateKey.")
        }
        return keys
    }

    /// The identifier of an endpoint that a fixture was answered with earlier. The origin does not matter, because the service may
    /// have another port now.
    private mutating func endpoint(_ url: String?, at pointer: String) throws(Problem) -> EndpointID? {
        guard let url else { return nil }
        let identifier = url.suffix(EndpointID.textLength)
        guard url.dropLast(identifier.count).hasSuffix(EndpointID.path), let id = EndpointID(identifier) else {
            throw Problem.invalid(
                pointer, "The value has to be a URL that ends with \(EndpointID.path) and 43 characters of base64url.")
        }
        guard endpoints.updateValue(pointer, forKey: id) == nil else {
            throw Problem(409, VirtualDevices.endpointIsTaken, pointer: pointer)
        }
        return id
    }

    /// Checks that nobody else has the named endpoints. The store has to be asked, so this comes when the rest is planned, and before
    /// anything is changed.
    func checkEndpoints() async throws {
        for (endpoint, pointer) in endpoints.sorted(by: { $0.value < $1.value }) {
            guard try await !testing.devices.isTaken(endpoint, afterDeleting: replaced) else {
                throw Problem(409, VirtualDevices.endpointIsTaken, pointer: pointer)
            }
        }
    }
}
