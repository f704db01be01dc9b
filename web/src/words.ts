// What the page says, in English and in Chinese.

import { createSignal } from 'solid-js';
import type { HappenedEvent } from './api';

const english = {
  fabric: 'Fabric', events: 'Events', whatIf: 'What if', inspect: 'Inspect', path: 'Path',
  language: '中文', languageLabel: '切换到中文', theme: 'Theme', light: 'Light', dark: 'Dark', system: 'As the system',
  skip: 'Skip to the content', views: 'Views', live: 'live', broken: 'not connected', status: 'Where the fabric stands',
  hosts: 'Hosts', switches: 'Switches', links: 'Links up', down: 'Down', heldDown: 'Held down', heals: 'Heals', lastHeal: 'Last heal',
  longestHeal: 'Longest heal', routing: 'Routing', emulated: 'emulated',
  state: 'State', 'state-up': 'up', 'state-discover': 'discovering', 'state-route': 'routing', 'state-program': 'programming',
  'state-arm': 'arming', 'state-activate': 'activating', 'state-refused': 'refused', 'state-standby': 'standby',
  active: 'in service', 'held-down': 'held down', downState: 'down', absent: 'gone',
  find: 'Find a switch or host', findHint: 'Name or GUID', nothingFound: 'Nothing has this name', wholeFabric: 'Whole fabric', zoomIn: 'Nearer', zoomOut: 'Farther',
  map: 'Map of the fabric. The panel beside it has the same as tables.', pods: 'Pods', podNumber: 'Pod {0}', topTier: 'Top tier', name: 'Name', linksDown: 'Links down',
  port: 'Port', leadsTo: 'Leads to', tier: 'Tier', kind: 'Kind', rate: 'Rate', since: 'Since', losses: 'Losses', ends: 'Ends', link: 'Link',
  'kind-switch': 'switch', 'kind-channel-adapter': 'host adapter', 'kind-router': 'router', 'kind-aggregation-node': 'aggregation node',
  pull: 'Pull the cable', mend: 'Put it back', pathFrom: 'Path from here', whatIfPulled: 'What if it were pulled?', whatIfDrained: 'What if it were drained?',
  from: 'From', to: 'To', hops: '{0} links', doesNotArrive: 'The tables do not lead there', serviceLevel: 'Service level', pickTo: 'Choose the other end on the map, or by name.',
  back: 'Back', legend: 'Legend', lastEvents: 'Latest', allEvents: 'All events', noGpu: 'This browser has no WebGL 2: the fabric is shown as tables alone.',
  loading: 'Loading …', time: 'Time', what: 'What', why: 'Why', took: 'Took', allKinds: 'All kinds', severityAll: 'All', 'severity-warning': 'Warning', 'severity-error': 'Error',
  healTimes: 'Heals, in ms', healTimesText: 'Time of each of the last {0} heals: median {1} ms, longest {2} ms.', noHeals: 'Nothing had to be healed yet.', ms: 'ms', filter: 'Show', eventsShown: '{0} events', older: 'Older events',
  whatIfIntro: 'Choose links and switches that are to be taken out. The tables are repaired on a copy: the fabric does not notice.',
  addSwitch: 'Add a switch', remove: 'Remove', compute: 'Compute', computing: 'Computing …', taken: 'Taken out', nothingTaken: 'Nothing yet: click a link or a switch on the map, or name one here.',
  before: 'Before', after: 'After', hostsCut: 'Hosts cut off', mostLoaded: 'Most paths on a link', loaded99: '99 of 100 links have at most', meanLoad: 'Mean paths on a link', entriesChanged: 'Table entries changed', blocksWritten: 'Blocks to write', byRepair: 'healed by a repair', byEngine: 'all tables computed anew', verdictNone: 'Every pair of hosts keeps a path.', verdictLost: '{0} pairs of hosts lose their paths.', counted: 'Counted: {0} ordered pairs of hosts over {1} links between switches, in {2} ms.',
  token: 'Token', tokenWanted: 'The controller asks who calls. Give a token.', give: 'Enter', 
};

type Word = keyof typeof english;

const chinese: Record<Word, string> = {
  fabric: '网络', events: '事件', whatIf: '假设推演', inspect: '查看', path: '路径',
  language: 'English', languageLabel: 'Switch to English', theme: '主题', light: '浅色', dark: '深色', system: '跟随系统',
  skip: '跳到内容', views: '视图', live: '实时', broken: '未连接', status: '网络状态',
  hosts: '主机', switches: '交换机', links: '正常链路', down: '中断', heldDown: '保持关闭', heals: '自愈', lastHeal: '最近自愈',
  longestHeal: '最长自愈', routing: '路由', emulated: '仿真',
  state: '状态', 'state-up': '运行中', 'state-discover': '发现中', 'state-route': '计算路由', 'state-program': '下发路由表',
  'state-arm': '准备链路', 'state-activate': '激活链路', 'state-refused': '已拒绝', 'state-standby': '备用',
  active: '正常', 'held-down': '保持关闭', downState: '中断', absent: '已离开',
  find: '查找交换机或主机', findHint: '名称或 GUID', nothingFound: '没有这个名称', wholeFabric: '全网', zoomIn: '放大', zoomOut: '缩小',
  map: '网络图。旁边的面板以表格给出相同内容。', pods: 'Pod', podNumber: 'Pod {0}', topTier: '顶层', name: '名称', linksDown: '中断链路',
  port: '端口', leadsTo: '对端', tier: '层', kind: '类型', rate: '速率', since: '自', losses: '中断次数', ends: '两端', link: '链路',
  'kind-switch': '交换机', 'kind-channel-adapter': '主机网卡', 'kind-router': '路由器', 'kind-aggregation-node': '聚合节点',
  pull: '拔掉线缆', mend: '重新插上', pathFrom: '从这里出发的路径', whatIfPulled: '若拔掉它?', whatIfDrained: '若排空它?',
  from: '从', to: '到', hops: '{0} 条链路', doesNotArrive: '路由表到不了那里', serviceLevel: '服务等级', pickTo: '在图上或按名称选择另一端。',
  back: '返回', legend: '图例', lastEvents: '最近', allEvents: '全部事件', noGpu: '此浏览器没有 WebGL 2:仅以表格显示网络。',
  loading: '加载中……', time: '时间', what: '事件', why: '原因', took: '用时', allKinds: '所有类型', severityAll: '全部', 'severity-warning': '警告', 'severity-error': '错误',
  healTimes: '自愈用时(毫秒)', healTimesText: '最近 {0} 次自愈:中位数 {1} 毫秒,最长 {2} 毫秒。', noHeals: '还没有需要自愈的情况。', ms: '毫秒', filter: '显示', eventsShown: '{0} 条事件', older: '更早的事件',
  whatIfIntro: '选择要移除的链路和交换机。在副本上修复路由表:网络不受影响。',
  addSwitch: '添加交换机', remove: '移除', compute: '计算', computing: '计算中……', taken: '移除项', nothingTaken: '尚无:在图上点选链路或交换机,或在此输入名称。',
  before: '之前', after: '之后', hostsCut: '被隔离的主机', mostLoaded: '单链路最多路径', loaded99: '百分之 99 的链路不超过', meanLoad: '单链路平均路径', entriesChanged: '改变的表项', blocksWritten: '需写入的表块', byRepair: '通过修复自愈', byEngine: '全部重新计算', verdictNone: '每一对主机都保有路径。', verdictLost: '{0} 对主机失去路径。', counted: '统计:{0} 个有序主机对,{1} 条交换机间链路,用时 {2} 毫秒。',
  token: '令牌', tokenWanted: '控制器要求身份。请输入令牌。', give: '确定', 
};

export type Language = 'en' | 'zh';
const KEPT = 'heddle-language';
const kept = localStorage.getItem(KEPT);
const [language, setLanguage] = createSignal<Language>(
  kept === 'zh' || kept === 'en' ? kept : navigator.language.startsWith('zh') ? 'zh' : 'en',
);
export { language };

export function speak(wanted: Language): void {
  localStorage.setItem(KEPT, wanted);
  document.documentElement.lang = wanted === 'zh' ? 'zh-CN' : 'en';
  setLanguage(wanted);
}

function filled(text: string, values: (string | number)[]): string {
  return text.replace(/\{(\d)\}/g, (_, at) => String(values[Number(at)] ?? ''));
}

export function t(word: Word, ...values: (string | number)[]): string {
  return filled((language() === 'zh' ? chinese : english)[word], values);
}

/** A word that the controller gives, where the page has one of its own for it. */
export function named(prefix: string, word: string): string {
  const key = (prefix + word) as Word;
  return key in english ? t(key) : word;
}

const kinds: Record<string, [string, string]> = {
  'controller-started': ['Controller started', '控制器启动'],
  'controller-stopped': ['Controller stopped', '控制器停止'],
  'fabric-up': ['Fabric up', '网络就绪'],
  'fabric-refused': ['Fabric refused', '网络被拒绝'],
  resweep: ['Looked at anew', '重新扫描'],
  'link-lost': ['Link lost', '链路中断'],
  'link-back': ['Link back', '链路恢复'],
  healed: ['Healed', '自愈完成'],
  rebalanced: ['Paths spread anew', '路径重新分布'],
  reroute: ['Tables computed anew', '重新计算路由'],
  'held-down': ['Held down', '保持关闭'],
  cut: ['Fabric cut', '网络分裂'],
  finding: ['Finding', '发现'],
  trap: ['Trap', '陷阱'],
  'lids-assigned': ['LIDs given out', '分配 LID'],
  standby: ['Standby', '备用'],
  'take-over': ['Took over', '接管'],
};

export function kindName(kind: string): string {
  return kinds[kind]?.[language() === 'zh' ? 1 : 0] ?? kind;
}

export const eventKinds = Object.keys(kinds);

/** A line on an event; what has no Chinese form of its own is told as the controller tells it. */
export function told(event: HappenedEvent): string {
  if (language() !== 'zh') return event.text;
  const data = event.data ?? {};
  const ends = Array.isArray(data.ends) ? (data.ends as string[]) : [];
  switch (event.kind) {
    case 'healed':
      return `${ms(Number(data.seconds) * 1e3)} 毫秒内自愈:${data.lost} 条链路中断,${data.back} 条恢复`;
    case 'link-lost':
      return ends.length === 2 ? `链路 ${ends[0]} — ${ends[1]} 中断` : event.text;
    case 'link-back':
      return ends.length === 2 ? `链路 ${ends[0]} — ${ends[1]} 恢复服务` : event.text;
    case 'fabric-up':
      return `网络就绪:${data.switches} 台交换机,${data.hosts} 台主机,${data.links} 条链路`;
    case 'rebalanced':
      return `路径重新分布:${data.entries} 个表项,${data.blocks} 个表块`;
    case 'held-down':
      return `${event.subject ?? ''} 反复中断,保持关闭 ${Math.round(Number(data.seconds))} 秒`;
    default:
      return event.text;
  }
}

export function number(value: number): string {
  return value.toLocaleString(language() === 'zh' ? 'zh-CN' : 'en-US');
}

export function ms(value: number): string {
  return value < 10 ? value.toFixed(1) : number(Math.round(value));
}

export function clock(time: string): string {
  return new Date(time).toLocaleTimeString(language() === 'zh' ? 'zh-CN' : 'en-GB');
}
