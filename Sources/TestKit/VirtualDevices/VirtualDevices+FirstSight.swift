package import Delivery
package import Notifications
import Storage
import Synchronization
package import Trust

// Devices that are made of their device tokens at their first use (`carillon serve --accept any`).
//
// Such a device is connected as any other virtual device, and has a line at the switchboard. But there may be tens of
// thousands of new ones in a second, so none of them is registered in the store until something has to be stored for it,
// or a test changes it.
extension VirtualDevices {
    /// The contents of a device token, which becomes a device if it is seen for the first time.
    /// - Parameters:
    ///   - app: the app that the request addresses. The device has the apps for which its token was used.
    ///   - service: the service of the app that the token is for.
    package func contents(of token: [UInt8], app: App, service: TopicKind) -> DeviceTokenContents? {
        guard NamedTokens.byteCounts.contains(token.count) else { return nil }
        let (device, forgotten) = seen.withLock { seen -> (DeviceID, DeviceID?) in
            switch seen.known(token, app.id) {
            case .yes(let device): return (device, nil)
            case .forOtherApps(let device):
                seen.add(app.id, to: token)
                add(app, to: device, named: token)
                return (device, nil)
            case .no:
                // Make it under the lock: whoever finds the token must find its device too.
                let device = make(token, app)
                return (device, seen.add(token, device, for: app.id))
            }
        }
        if let forgotten { forget(forgotten) }
        return DeviceTokenContents(device: device, app: app.id, generation: 1, service: service)
    }

    /// The device of a token that was seen before.
    package func device(of token: [UInt8]) -> DeviceID? { seen.withLock { $0.device(of: token) } }

    /// The device token that tests use for an event's destination, in hexadecimal digits, if a fixture has named it or a request
    /// has: the app's own, or that of one of its services. Nil if the destination has only the service's own tokens.
    package func namedToken(_ address: NotificationSubject.Address) -> String? {
        guard case .destination(let destination, let generation) = address, destination.environment == .development,
            let device = self[destination.device]
        else { return nil }
        let service = TokenNumber.service(of: generation) ?? .app
        let named = device.apps.first { $0.app.id == destination.app }?.named[service]
        return (named ?? device.firstSeen).map(Hexadecimal.string)
    }

    private func make(_ token: [UInt8], _ app: App) -> DeviceID {
        var random = SystemRandomNumberGenerator()
        let key = DeviceKey(environment: .development, device: DeviceID(rawValue: random.next()))
        let stream = VirtualStream(key, .online, acknowledgements)
        let device = VirtualDevice(
            key: key, name: Hexadecimal.string(token), team: app.team, behaviour: .online, power: .charging,
            since: clock.time, apps: [VirtualApp(app, named: [.app: token])], firstSeen: token)
        entries.withLock { $0[key] = Entry(device: device, stream: stream, isFullyRegistered: false, isInStore: false) }
        switchboard.attachNew(stream, of: key, power: device.power)
        return key.device
    }

    private func add(_ app: App, to device: DeviceID, named token: [UInt8]) {
        let key = DeviceKey(environment: .development, device: device)
        entries.withLock { entries in
            entries[key]?.device.apps.append(VirtualApp(app, named: [.app: token]))
            entries[key]?.isFullyRegistered = false
        }
    }

    /// Forgets a device, to make room for another one.
    private func forget(_ device: DeviceID) {
        let key = DeviceKey(environment: .development, device: device)
        guard let entry = entries.withLock({ $0[key] }) else { return }
        guard !entry.isInStore else {
            Task { await remove(device) }
            return
        }
        // As if the device had disconnected and the app had been removed.
        if let stream = entry.stream { switchboard.detach(stream, of: key) }
        _ = entries.withLock { $0.removeValue(forKey: key) }
    }

    /// The registration of an app on a device that is not in the store; nil if there is none.
    func unstoredRegistration(_ destination: Destination) -> Registration? {
        entries.withLock { entries in
            guard let entry = entries[destination.deviceKey], entry.device.firstSeen != nil,
                entry.device.apps.contains(where: { $0.app.id == destination.app })
            else { return nil }
            var registration = Registration(
                firstSealedWith: tokenKeys.current.current.rawValue, at: entry.device.since)
            if !entry.device.behaviour.hasApps { _ = registration.setActive(false, at: entry.device.since) }
            return registration
        }
    }

    /// Registers the apps of a device in the store, if it was made of its token and is not there yet.
    func registerIfMade(_ id: DeviceID) async throws(StoreError) {
        let key = DeviceKey(environment: .development, device: id)
        guard let entry = entries.withLock({ $0[key] }), !entry.isFullyRegistered else { return }
        do {
            try remember(id)
        } catch {
            throw error as? StoreError ?? StoreError(.unavailable, "The device \(id) cannot be remembered.")
        }
        let destinations = entry.device.destinations
        for destination in destinations {
            _ = try await registrations.register(
                destination, tokenKeyID: tokenKeys.current.current.rawValue, at: clock.time)
        }
        let isThere = entries.withLock { entries in
            // Another app may have been added meanwhile.
            let isComplete = entries[key]?.device.apps.count == destinations.count
            entries[key]?.isFullyRegistered = isComplete
            entries[key]?.isInStore = true
            return entries[key] != nil
        }
        guard isThere else {
            // The device was removed meanwhile, and nobody else ends these.
            for destination in destinations { _ = try await registrations.end(destination, at: clock.time) }
            return
        }
        if !entry.isInStore, let stream = entry.stream { broadcasts.attach(stream, of: key) }
    }
}
