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
        guard let line = line(of: device, on: stream) else { return nil }
        let (new, gone) = line.subscribe(to: subscribed)
        for key in gone { leave(key, line) }
        for key in new { subscribers[key, default: [:]][device] = line }
        return line.claimChannelsToRead()
    }

    /// Sends a stored broadcast, unless the device has received it already.
    func send(_ message: BroadcastMessage, to device: DeviceKey, on stream: any BroadcastStream) {
        guard let line = line(of: device, on: stream), case .send = line.admit(message, isStored: true) else { return }
        stream.send(message)
    }

    /// - Returns: Whether to load again, because something has changed meanwhile.
    func continueLoading(_ device: DeviceKey, on stream: any BroadcastStream) -> Bool {
        guard let line = line(of: device, on: stream) else { return false }
        line.isLoading = line.isStale
        line.isStale = false
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

    /// - Returns: The streams to which the message has to be sent, and the number of devices that had no room for it.
    /// - Parameter isStored: whether the message was read from the store.
    func admit(_ message: BroadcastMessage, isStored: Bool) -> (streams: [any BroadcastStream], full: Int) {
        guard let lines = subscribers[message.channel] else { return ([], 0) }
        var streams: [any BroadcastStream] = []
        streams.reserveCapacity(lines.count)
        var full = 0
        for line in lines.values {
            switch line.admit(message, isStored: isStored) {
            case .send: streams.append(line.stream)
            case .noRoom: full += 1
            case .notSubscribed, .hadBefore: break
            }
        }
        return (streams, full)
    }
}
