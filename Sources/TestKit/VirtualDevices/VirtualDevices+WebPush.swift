package import Delivery
package import Notifications
package import Storage
import Synchronization
import Trust
import WebPushEncryption

// The subscriptions of Web Push that apps on virtual devices have.
extension VirtualDevices {
    /// Whether the service has Web Push, so that devices may have subscriptions.
    package var hasWebPush: Bool { webPush.withLock { $0 != nil } }

    /// What a message says that was sent to a subscription of a virtual device, which has the keys.
    /// - Parameter destination: the subscription's.
    /// - Returns: nil for any other subscription, and for what cannot be decrypted or is not UTF-8.
    package func text(of message: WebPushMessage, to destination: Destination) -> String? {
        let subscription = entries.withLock {
            $0[destination.deviceKey]?.device.subscriptions.first { $0.stored.destination == destination }
        }
        guard let subscription else { return nil }
        guard let encoding = message.encoding else { return String(validating: message.body, as: UTF8.self) }
        return EncryptedMessage(
            message.body, encoding: encoding.rawValue, dh: message.dh, salt: message.salt
        ).flatMap { subscription.keys.text(of: $0) }
    }

    /// The subscription of an endpoint that nobody has made (`carillon serve --accept any`). It is made with a device of its own, as one
    /// of an unknown device token is, and is forgotten with it. Its name is the endpoint's text, which anybody may choose here.
    package func subscription(
        atFirstSight endpoint: EndpointID, of app: App
    ) async throws(StoreError) -> WebPushSubscription? {
        guard let making = webPush.withLock(\.self) else { return nil }
        do {
            return try await inTurn { [self] in
                let digest = EndpointKey.digest(of: endpoint)
                let there = try await making.subscriptions.subscriptions(with: [digest]).first.flatMap(\.self)
                if let there { return there }
                // A device that was removed for a while gets its subscriptions back, so nobody else may have their endpoints.
                let isAway = entries.withLock { entries in
                    entries.values.contains { $0.device.subscriptions.contains { $0.stored.digest == digest } }
                }
                guard !isAway else { return nil }
                // The hash stands for the endpoint where device tokens are shown.
                guard let device = contents(of: digest, app: app, service: .app)?.device else { return nil }
                try await registerIfMade(device)
                let key = DeviceKey(environment: .development, device: device)
                let made = try await subscribe(
                    WantedSubscription(app, name: endpoint.text, isPlain: true, endpoint: endpoint), of: key)
                entries.withLock { $0[key]?.device.subscriptions.append(made) }
                return made.stored
            }
        } catch {
            throw error as? StoreError ?? StoreError(.unavailable, "A subscription cannot be made now.")
        }
    }

    /// Who has an endpoint.
    private enum EndpointHolder {
        /// A virtual device, perhaps one that is removed for a while: it gets its subscriptions back.
        case virtual(VirtualDevice)
        /// An app on another device, or a phone.
        case other
    }

    /// The subscription of a virtual device that an endpoint leads to, or led to while the device was not removed; nil for any other
    /// endpoint.
    package func subscription(of endpoint: EndpointID) -> WebPushSubscription? {
        let digest = EndpointKey.digest(of: endpoint)
        return entries.withLock { entries in
            for entry in entries.values {
                if let found = entry.device.subscriptions.first(where: { $0.stored.digest == digest }) {
                    return found.stored
                }
            }
            return nil
        }
    }

    private func holder(of digest: [UInt8]) async throws(StoreError) -> EndpointHolder? {
        let virtual = entries.withLock { entries in
            entries.values.first { $0.device.subscriptions.contains { $0.stored.digest == digest } }?.device
        }
        if let virtual { return .virtual(virtual) }
        guard let making = webPush.withLock(\.self) else { return nil }
        let isOnDevice = try await making.subscriptions.subscriptions(with: [digest]).first.flatMap(\.self) != nil
        if isOnDevice { return .other }
        return try await making.phones.endpoint(with: digest) == nil ? nil : .other
    }

    /// Whether an endpoint cannot be given to a new subscription, because another one has it.
    /// - Parameter teams: those that are deleted before. Their virtual devices lose what they have.
    package func isTaken(_ endpoint: EndpointID, afterDeleting teams: [TeamID]) async throws(StoreError) -> Bool {
        switch try await holder(of: EndpointKey.digest(of: endpoint)) {
        case nil: false
        case .virtual(let device): device.firstSeen == nil && !teams.contains(device.team)
        case .other: true
        }
    }

    package static let endpointIsTaken = "Another subscription has this endpoint."

    /// Makes a subscription of an app that is registered.
    func subscribe(_ wanted: WantedSubscription, of device: DeviceKey) async throws(StoreError) -> VirtualSubscription {
        guard let making = webPush.withLock(\.self),
            let (new, url) = making.make(wanted, device.destination(of: wanted.app.id))
        else {
            throw StoreError(.conflict, "The service has no Web Push: its option --web-push switches it on.")
        }
        if wanted.endpoint != nil, let holder = try await holder(of: new.digest) {
            // One that was made at first sight gives way, as with device tokens.
            guard case .virtual(let there) = holder, there.firstSeen != nil, there.key != device else {
                throw StoreError(.exists, Self.endpointIsTaken)
            }
            await remove(there.key.device)
        }
        let stored = try await making.subscriptions.subscribe(new, limit: WebPushSubscription.maximumCount)
        return VirtualSubscription(wanted: wanted, url: url, stored: stored)
    }

    /// Subscribes the apps of a device again, after their registrations had ended. Their endpoints stay, as named device tokens
    /// do, so that a test sees the app come back.
    func subscribeAgain(_ id: DeviceID) async throws(StoreError) {
        let key = DeviceKey(environment: .development, device: id)
        guard let making = webPush.withLock(\.self) else { return }
        for subscription in self[id]?.subscriptions ?? [] {
            var new = subscription.stored
            // A late message of the earlier subscription must not get into the new one.
            new.destination = Destination(
                environment: key.environment, device: id, app: new.destination.app,
                queue: UInt32.random(in: 1 ... .max))
            let stored = try await making.subscriptions.subscribe(new, limit: WebPushSubscription.maximumCount)
            entries.withLock { entries in
                let index = entries[key]?.device.subscriptions.firstIndex { $0.stored.digest == stored.digest }
                if let index { entries[key]?.device.subscriptions[index].stored = stored }
            }
        }
    }
}
