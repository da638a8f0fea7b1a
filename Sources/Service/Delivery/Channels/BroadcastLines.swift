import Notifications

/// The connected devices of one shard, and which of them are subscribed to which channel.
///
/// `@unchecked`, because the lines are classes. They are only used under the lock of their shard, which the compiler
/// cannot see.
struct BroadcastLines: @unchecked Sendable {
    private var lines: [DeviceKey: BroadcastLine] = [:]
    private var subscribers: [ChannelKey: [DeviceKey: BroadcastLine]] = [:]

    func line(of device: DeviceKey) -> BroadcastLine? { lines[device] }

    func subscribers(of channel: ChannelKey) -> Int { subscribers[channel]?.count ?? 0 }

    private func line(of device: DeviceKey, on stream: any BroadcastStream) -> BroadcastLine? {
        lines[device].flatMap { $0.stream === stream ? $0 : nil }
    }

    /// - Returns: The acknowledgements that came on the device's older stream and are not recorded yet.
    mutating func attach(_ line: BroadcastLine) -> [SeenBroadcast] {
        defer { assert(checkInvariants()) }
        let marks = remove(line.device)
        lines[line.device] = line
        return marks
    }

    /// - Returns: The acknowledgements that came on this stream and are not recorded yet.
    mutating func detach(_ stream: any BroadcastStream, of device: DeviceKey) -> [SeenBroadcast] {
        line(of: device, on: stream) == nil ? [] : remove(device)
    }

    private mutating func remove(_ device: DeviceKey) -> [SeenBroadcast] {
        guard let line = lines.removeValue(forKey: device) else { return [] }
        for key in line.channels.keys { leave(key, line) }
        return line.drainMarks()
    }

    private mutating func leave(_ channel: ChannelKey, _ line: BroadcastLine) {
        subscribers[channel]?[line.device] = nil
        if subscribers[channel]?.isEmpty ?? false { subscribers[channel] = nil }
    }

    /// Forgets a channel that was removed. Nobody is subscribed to it any more.
    mutating func drop(_ channel: ChannelKey) {
        // The store may have been asked before the removal, also for a device that is not among the subscribers yet.
        for line in lines.values where line.isLoading { line.isStale = true }
        guard let subscribed = subscribers.removeValue(forKey: channel) else { return }
        for line in subscribed.values { line.drop(channel) }
        assert(checkInvariants())
    }

    /// Checks what holds between two events, in debug builds. Always returns true, so that `assert` can call it.
    private func checkInvariants() -> Bool {
        guard lines.count <= 16, subscribers.count <= 16 else { return true }
        for (channel, subscribed) in subscribers {
            assert(!subscribed.isEmpty, "A channel without subscribers is kept.")
            for (device, line) in subscribed {
                assert(lines[device] === line, "A line that has ended is subscribed.")
                assert(line.channels[channel] != nil, "A line is subscribed without knowing it.")
            }
        }
        for line in lines.values {
            assert(
                line.channels.keys.allSatisfy { subscribers[$0]?[line.device] === line },
                "A line would miss the broadcasts of a channel.")
        }
        return true
    }

    /// All connected devices.
    var devices: [DeviceKey] { Array(lines.keys) }

    func drainMarks() -> [SeenBroadcast] { lines.values.flatMap { $0.drainMarks() } }

    // MARK: Loading

    /// - Returns: The stream for which the subscriptions have to be loaded. nil if the device is not connected, or if
    ///   they are being loaded already: they are then loaded once more.
    func beginLoading(_ device: DeviceKey) -> (any BroadcastStream)? {
        guard let line = lines[device] else { return nil }
        guard !line.isLoading else {
            line.isStale = true
            return nil
        }
        line.isLoading = true
        return line.stream
    }

    /// Takes over a device's subscriptions.
    /// - Returns: The channels whose stored broadcast is to be read; nil if the stream has ended.
    mutating func subscribe(
        _ device: DeviceKey,
        on stream: any BroadcastStream,
        to subscribed: [SubscribedChannel],
    ) -> [ChannelKey]? {
        defer { assert(checkInvariants()) }
        guard let line = line(of: device, on: stream) else { return nil }
        let (new, gone) = line.subscribe(to: subscribed)
        for key in gone { leave(key, line) }
        for key in new { subscribers[key, default: [:]][device] = line }
        return line.claimChannelsToRead()
    }

    /// Sends a stored broadcast, unless the device has received it already.
    /// - Parameters:
    ///   - now: the time.
    ///   - isAwake: whether the device may get it now; nil if the message wakes every device. If not, it gets it later.
    func send(
        _ message: BroadcastMessage,
        to device: DeviceKey,
        on stream: any BroadcastStream,
        at now: Timestamp,
        isAwake: ((DeviceKey) -> Bool)?,
    ) {
        // Only what is sent may wake the device.
        guard let line = line(of: device, on: stream), line.needs(message, isStored: true) else { return }
        guard line.isAwakeForLoad || isAwake?(device) ?? true else {
            _ = line.hold(message, isStored: true)
            return
        }
        // Send those that have waited first, so that the order stays.
        release(line, at: now)
        if case .send = line.admit(message, isStored: true) { stream.send(message) }
    }

    /// - Returns: Whether to load again, because something has changed meanwhile.
    func continueLoading(_ device: DeviceKey, on stream: any BroadcastStream) -> Bool {
        guard let line = line(of: device, on: stream) else { return false }
        line.isLoading = line.isStale
        line.isStale = false
        if !line.isLoading { line.isAwakeForLoad = false }
        return line.isLoading
    }

    /// - Returns: Whether the stream is still the device's.
    func endLoading(_ device: DeviceKey, on stream: any BroadcastStream) -> Bool {
        guard let line = line(of: device, on: stream) else { return false }
        line.isLoading = false
        line.isStale = false
        return true
    }

    // MARK: Sending

    /// What becomes of a message.
    struct Sending {
        /// The streams to which it has to be sent.
        var streams: [any BroadcastStream] = []
        /// The number of devices that get it when they are awake.
        var held = 0
        /// The number of devices that had no room for it.
        var full = 0
    }

    /// - Parameters:
    ///   - isStored: whether the message was read from the store.
    ///   - now: the time.
    ///   - isAwake: whether a device may get it now; nil if the message wakes every device.
    func admit(
        _ message: BroadcastMessage,
        isStored: Bool,
        at now: Timestamp,
        isAwake: ((DeviceKey) -> Bool)? = nil,
    ) -> Sending {
        var sending = Sending()
        guard let lines = subscribers[message.channel] else { return sending }
        sending.streams.reserveCapacity(lines.count)
        for line in lines.values where line.needs(message, isStored: isStored) {
            let isHeld = isAwake.map { !$0(line.device) } ?? false
            // Send those that have waited first, so that the order stays.
            if !isHeld { release(line, at: now) }
            switch isHeld ? line.hold(message, isStored: isStored) : line.admit(message, isStored: isStored) {
            case .send where isHeld: sending.held += 1
            case .send: sending.streams.append(line.stream)
            case .noRoom: sending.full += 1
            case .unneeded: break
            }
        }
        return sending
    }

    /// Sends what waited until the device is awake.
    /// - Returns: The number of broadcasts, and whether to read from the store what had to be left out.
    func release(_ device: DeviceKey, at now: Timestamp) -> (count: Int, readsAgain: Bool) {
        guard let line = lines[device] else { return (0, false) }
        let count = release(line, at: now)
        if line.canCatchUp { line.isAwakeForLoad = true }
        return (count, line.canCatchUp)
    }

    @discardableResult
    private func release(_ line: BroadcastLine, at now: Timestamp) -> Int {
        let released = line.release(at: now)
        for message in released { line.stream.send(message) }
        return released.count
    }
}
