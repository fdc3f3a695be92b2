"""Names of the files of word vectors that GloVe and fastText publish."""

from __future__ import annotations

__all__ = ["FASTTEXT_FILES", "GLOVE_FILES"]

_GLOVE = """
42B.300d 6B.50d 6B.100d 6B.200d 6B.300d 840B.300d twitter.27B.25d twitter.27B.50d twitter.27B.100d twitter.27B.200d
"""

_FASTTEXT = """
crawl-300d-2M wiki.aa wiki.ab wiki.ace wiki.ady wiki.af wiki.ak wiki.als wiki.am wiki.ang wiki.an wiki.arc wiki.ar
wiki.arz wiki.ast wiki.as wiki.av wiki.ay wiki.azb wiki.az wiki.bar wiki.bat_smg wiki.ba wiki.bcl wiki.be wiki.bg
wiki.bh wiki.bi wiki.bjn wiki.bm wiki.bn wiki.bo wiki.bpy wiki.br wiki.bs wiki.bug wiki.bxr wiki.ca wiki.cbk_zam
wiki.cdo wiki.ceb wiki.ce wiki.cho wiki.chr wiki.ch wiki.chy wiki.ckb wiki.co wiki.crh wiki.cr wiki.csb wiki.cs
wiki.cu wiki.cv wiki.cy wiki.da wiki.de wiki.diq wiki.dsb wiki.dv wiki.dz wiki.ee wiki.el wiki.eml wiki.en wiki.eo
wiki.es wiki.et wiki.eu wiki.ext wiki.fa wiki.ff wiki.fiu_vro wiki.fi wiki.fj wiki.fo wiki.frp wiki.frr wiki.fr
wiki.fur wiki.fy wiki.gag wiki.gan wiki.ga wiki.gd wiki.glk wiki.gl wiki.gn wiki.gom wiki.got wiki.gu wiki.gv
wiki.hak wiki.ha wiki.haw wiki.he wiki.hif wiki.hi wiki.ho wiki.hr wiki.hsb wiki.ht wiki.hu wiki.hy wiki.hz wiki.ia
wiki.id wiki.ie wiki.ig wiki.ii wiki.ik wiki.ilo wiki.io wiki.is wiki.it wiki.iu wiki.jam wiki.ja wiki.jbo wiki.jv
wiki.kaa wiki.kab wiki.ka wiki.kbd wiki.kg wiki.ki wiki.kj wiki.kk wiki.kl wiki.km wiki.kn wiki.koi wiki.ko
wiki.krc wiki.kr wiki.ksh wiki.ks wiki.ku wiki.kv wiki.kw wiki.ky wiki.lad wiki.la wiki.lbe wiki.lb wiki.lez
wiki.lg wiki.lij wiki.li wiki.lmo wiki.ln wiki.lo wiki.lrc wiki.ltg wiki.lt wiki.lv wiki.mai wiki.map_bms wiki.mdf
wiki.mg wiki.mhr wiki.mh wiki.min wiki.mi wiki.mk wiki.ml wiki.mn wiki.mo wiki.mrj wiki.mr wiki.ms wiki.mt
wiki.multi.ar wiki.multi.bg wiki.multi.ca wiki.multi.cs wiki.multi.da wiki.multi.de wiki.multi.el wiki.multi.en
wiki.multi.es wiki.multi.et wiki.multi.fi wiki.multi.fr wiki.multi.he wiki.multi.hr wiki.multi.hu wiki.multi.id
wiki.multi.it wiki.multi.mk wiki.multi.nl wiki.multi.no wiki.multi.pl wiki.multi.pt wiki.multi.ro wiki.multi.ru
wiki.multi.sk wiki.multi.sl wiki.multi.sv wiki.multi.tr wiki.multi.uk wiki.multi.vi wiki.mus wiki.mwl wiki.my
wiki.myv wiki.mzn wiki.nah wiki.nap wiki.na wiki.nds_nl wiki.nds wiki.ne wiki-news-300d-1M-subword
wiki-news-300d-1M wiki.new wiki.ng wiki.nl wiki.nn wiki.no wiki.nov wiki.nrm wiki.nso wiki.nv wiki.ny wiki.oc
wiki.olo wiki.om wiki.or wiki.os wiki.pag wiki.pam wiki.pap wiki.pa wiki.pcd wiki.pdc wiki.pfl wiki.pih wiki.pi
wiki.pl wiki.pms wiki.pnb wiki.pnt wiki.ps wiki.pt wiki.qu wiki.rm wiki.rmy wiki.rn wiki.roa_rup wiki.roa_tara
wiki.ro wiki.rue wiki.ru wiki.rw wiki.sah wiki.sa wiki.scn wiki.sco wiki.sc wiki.sd wiki.se wiki.sg wiki.sh
wiki.simple wiki.si wiki.sk wiki.sl wiki.sm wiki.sn wiki.so wiki.sq wiki.srn wiki.sr wiki.ss wiki.stq wiki.st
wiki.su wiki.sv wiki.sw wiki.szl wiki.ta wiki.tcy wiki.tet wiki.te wiki.tg wiki.th wiki.ti wiki.tk wiki.tl wiki.tn
wiki.to wiki.tpi wiki.tr wiki.ts wiki.tt wiki.tum wiki.tw wiki.ty wiki.tyv wiki.udm wiki.ug wiki.uk wiki.ur wiki.uz
wiki.vec wiki.vep wiki.ve wiki.vi wiki.vls wiki.vo wiki.war wiki.wa wiki.wo wiki.wuu wiki.xal wiki.xh wiki.xmf
wiki.yi wiki.yo wiki.za wiki.zea wiki.zh_classical wiki.zh_min_nan wiki.zh wiki.zh_yue wiki.zu
"""

GLOVE_FILES = tuple(f"glove.{name}.txt" for name in _GLOVE.split())
FASTTEXT_FILES = tuple(f"{name}.vec" for name in _FASTTEXT.split())
