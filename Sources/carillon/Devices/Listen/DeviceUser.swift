import APNSDevice
import CommandSupport

/// The user of a listening device. It puts apps on the device, and acts on the pressed keys.
actor DeviceUser {
    private let system: DeviceSystem
    private let setup: ListenSetup
    private let output: any ListenOutput
    /// The apps that are on the device, or were on it, in the order in which they were added.
    private var bundleIDs: [String] = []
    private var removed: Set<String> = []
    /// The device tokens that were printed so far.
    private var deviceTokens: [String: String] = [:]
    private var selected = 0
    private var languages: [String]

    init(_ system: DeviceSystem, _ setup: ListenSetup, output: any ListenOutput) {
        self.system = system
        self.setup = setup
        self.output = output
        languages = setup.languages
    }

    /// Puts an app on the device.
    /// - Parameters:
    ///   - state: the app's first state. An app in the foreground registers.
    ///   - deviceToken: its device token, if that was printed already.
    func put(_ bundleID: String, _ state: AppState, deviceToken: String? = nil) async {
        if !bundleIDs.contains(bundleID) { bundleIDs.append(bundleID) }
        removed.remove(bundleID)
        if let deviceToken { deviceTokens[bundleID] = deviceToken }
        await system.install(
            bundleID, ListenApp(bundleID, deviceToken: deviceTokens[bundleID], output: output),
            localizations: setup.strings, sounds: setup.sounds, wasLaunched: state != .neverLaunched,
            categories: setup.categories)
        await system.change(setup.settings, of: bundleID)
        switch state {
        case .foreground: await system.open(bundleID, categories: setup.categories)
        case .forceQuit: await system.forceQuit(bundleID)
        case .background, .neverLaunched: break
        }
    }

    /// Begins a Live Activity of an app, with nothing in it.
    func beginActivity(of bundleID: String) async {
        let nothing = Array("{}".utf8)
        await system.startActivity(
            of: bundleID, attributesType: "Activity", attributes: nothing, contentState: nothing, updates: .token)
    }

    /// Puts an app on the device if a notification comes for it: it registered in an earlier run. Does nothing if the
    /// app was removed in this run.
    func expect(_ bundleID: String) async {
        guard await !system.hasInstalled(bundleID), !removed.contains(bundleID) else { return }
        await put(bundleID, .background)
    }

    // MARK: Keys

    /// Acts on the keys.
    /// - Parameter opensOnReturn: whether the return key opens the newest notification. It does not if the keys come
    ///   from a file, where it ends a line.
    /// - Returns: true if a key ended the command, false if there are no more keys.
    func obey(_ keys: AsyncStream<UInt8>, opensOnReturn: Bool) async -> Bool {
        for await key in keys {
            if !opensOnReturn, key == UInt8(ascii: "\n") || key == UInt8(ascii: "\r") { continue }
            let newest = await system.centre.notifications.first
            guard let key = ListenKey(key, actions: newest?.actions ?? []) else { continue }
            if key == .quit { return true }
            await obey(key, newest)
        }
        return false
    }

    private func obey(_ key: ListenKey, _ newest: ShownNotification?) async {
        switch key {
        case .respond(let response):
            guard let newest else { return }
            let before = await system.state(of: newest.bundleID)
            await system.respond(to: newest.id, with: response)
            // If the response opened the app, the app goes back to the background.
            if before != .foreground { await system.enterBackground(newest.bundleID) }
        case .expand:
            if let newest { await system.expand(newest.id) }
        case .showCentre:
            output.handle(.centre(await system.centre))
        case .change(let state):
            guard let bundleID = selectedApp else { return }
            await change(bundleID, to: state)
        case .selectNext:
            guard !bundleIDs.isEmpty else { return }
            selected = (selected + 1) % bundleIDs.count
            output.handle(.selected(bundleID: bundleIDs[selected]))
        case .nextLanguage:
            guard let first = languages.first else { return }
            languages = languages.dropFirst() + [first]
            await system.change(languages: languages)
        case .toggle(let part):
            if let bundleID = selectedApp { await toggle(part, of: bundleID) }
        case .quit: break
        }
    }

    private var selectedApp: String? { bundleIDs.indices.contains(selected) ? bundleIDs[selected] : nil }

    private func change(_ bundleID: String, to state: AppState?) async {
        let isInstalled = await system.hasInstalled(bundleID)
        switch state {
        case .foreground:
            if isInstalled {
                await system.open(bundleID, categories: setup.categories)
            } else {
                await put(bundleID, .foreground)
            }
        case .background: await system.enterBackground(bundleID)
        case .forceQuit: await system.forceQuit(bundleID)
        case .neverLaunched: await put(bundleID, .neverLaunched)
        case nil:
            removed.insert(bundleID)
            // The app gets a new device token when it is put back, and it has to be printed.
            deviceTokens[bundleID] = nil
            do {
                try await system.remove(bundleID)
            } catch {
                output.handle(.system(.problem(error)))
            }
        }
        output.handle(.state(bundleID: bundleID, await system.state(of: bundleID)))
    }

    private func toggle(_ part: Presentation, of bundleID: String) async {
        guard var settings = await system.settings(of: bundleID) else { return }
        switch part {
        case .banner:
            let on = setup.settings.alerts == .off ? AppSettings.AlertStyle.banner : setup.settings.alerts
            settings.alerts = settings.alerts == .off ? on : .off
        case .sound: settings.sounds.toggle()
        default: settings.badges.toggle()
        }
        await system.change(settings, of: bundleID)
        output.handle(.settings(bundleID: bundleID, settings))
    }
}
